export function firstPicture(): Promise<object>;
