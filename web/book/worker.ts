// One lesson's program at a time, beside the page: it is told { module, models, words }, and says { line } for each line
// that the program prints, then { code }; it waits for the next { words }, as sliders have many.
declare function vitruvianLessons(options: object): Promise<{
  FS: { mkdirTree(path: string): void; writeFile(path: string, bytes: Uint8Array): void };
  callMain(words: string[]): number;
}>;

let ready: ReturnType<typeof vitruvianLessons> | undefined;

function start(module: WebAssembly.Module, models: Record<string, Uint8Array>): ReturnType<typeof vitruvianLessons> {
  const lessons = vitruvianLessons({
    instantiateWasm(imports: WebAssembly.Imports, done: (instance: WebAssembly.Instance) => void) {
      void WebAssembly.instantiate(module, imports).then(done);
      return {};
    },
    print: (line: string) => postMessage({ line }),
    printErr: (line: string) => postMessage({ error: line }),
  });
  return lessons.then((all) => {
    all.FS.mkdirTree('/vitruvian/models');
    for (const [name, bytes] of Object.entries(models)) all.FS.writeFile(`/vitruvian/models/${name}.safetensors`, bytes);
    return all;
  });
}

onmessage = async ({ data }) => {
  try {
    ready ??= start(data.module, data.models);
    postMessage({ code: (await ready).callMain(data.words) });
  } catch (error) {
    postMessage({ error: String(error), code: -1 });
  }
};
