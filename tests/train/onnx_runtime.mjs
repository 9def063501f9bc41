// Runs graphs in onnxruntime: node onnx_runtime.mjs ROOT FOLDER. FOLDER/cases.json lists
// {"model", "shape", "output"}: images are in MODEL.in, float32; what comes out goes to MODEL.out.
// Exit code 77 where ROOT/web has no onnxruntime-node.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const [root, folder] = process.argv.slice(2)
const modules = join(root, 'web', 'node_modules')
// npm writes that list when all is there.
if (!existsSync(join(modules, '.package-lock.json')) || !existsSync(join(modules, 'onnxruntime-node'))) {
  console.log('no onnxruntime-node in web/node_modules: scripts/web.sh installs it')
  process.exit(77)
}
const ort = createRequire(join(modules, '..', 'package.json'))('onnxruntime-node')

for (const { model, shape, output } of JSON.parse(readFileSync(join(folder, 'cases.json'), 'utf8'))) {
  const bytes = readFileSync(join(folder, `${model}.in`))
  const numbers = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length))
  const session = await ort.InferenceSession.create(join(folder, model), {
    intraOpNumThreads: 1,
    logSeverityLevel: 3
  })
  const [name, ...more] = session.outputNames
  if (name !== output || more.length > 0) throw new Error(`${model}: outputs ${session.outputNames}`)
  const result = (await session.run({ images: new ort.Tensor('float32', numbers, shape) }))[output]
  writeFileSync(join(folder, `${model}.out`), Buffer.from(result.data.buffer, result.data.byteOffset, result.data.byteLength))
  await session.release()
}
