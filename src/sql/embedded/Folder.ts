// Creates the data directory.
import * as fs from "node:fs/promises"
import * as path from "node:path"

const orElse =
  (code: string) =>
  (cause: NodeJS.ErrnoException): undefined => {
    if (cause.code !== code) throw cause
  }

/**
 * Creates the folder and its missing parents, one after the other: `recursive` of Node tries for ever in a file system that
 * takes no folders, such as `/proc`, and reports a read-only one as a missing folder.
 */
export const create = async (folder: string, mode: number): Promise<void> => {
  const found = await fs.stat(folder).catch(orElse("ENOENT"))
  if (found?.isDirectory() === true) return
  if (found !== undefined) throw new Error(`${folder} is not a folder`)
  await create(path.dirname(folder), mode)
  // Another start may create it at the same time.
  await fs.mkdir(folder, { mode }).catch(orElse("EEXIST"))
}
