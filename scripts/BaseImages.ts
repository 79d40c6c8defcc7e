// The third-party images that the files in deploy/ use. A tag can be moved to other bytes; a digest cannot.

/** The files in deploy/ that use third-party images. */
export const files = ["deploy/Dockerfile", "deploy/compose.yaml"]

/** An image with a tag, as a Dockerfile and Compose name it. Build stages and the image of the service have no tag. */
const tagged = /^(\s*(?:FROM|image:)\s+)([^\s@]+:[^\s@]+)(@sha256:[0-9a-f]{64})?(?=\s|$)/gm

/** The images that a file names without a digest. */
export const unpinned = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(tagged)].flatMap(([, , name = "", digest]) => (digest === undefined ? [name] : []))

/** The text with the digest of each image. `digestOf` gets the name with its tag, and gives `sha256:` with 64 digits. */
export const pinned = (text: string, digestOf: (name: string) => string): string =>
  text.replace(tagged, (_, before: string, name: string) => `${before}${name}@${digestOf(name)}`)
