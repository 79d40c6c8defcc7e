// Creates folders, and writes small files in them so that they are complete and on disk when a call returns.
import { randomBytes } from "node:crypto"
import * as fs from "node:fs/promises"
import * as path from "node:path"

/** Writes a new file that only its owner can read. Fails if the file exists. */
export const write = async (file: string, text: string): Promise<void> => {
  const handle = await fs.open(file, "wx", 0o600)
  try {
    await handle.writeFile(`${text}\n`)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Makes renames and links in a folder durable. Windows cannot open folders, so nothing happens there. */
export const syncFolder = async (folder: string): Promise<void> => {
  if (process.platform === "win32") return
  const handle = await fs.open(folder, "r")
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Puts a complete file in the place of an earlier one. It removes what a replacement that was killed has left. */
export const replace = async (file: string, text: string): Promise<void> => {
  const unfinished = `${file}.next`
  await fs.rm(unfinished, { force: true })
  await write(unfinished, text)
  await fs.rename(unfinished, file)
  await syncFolder(path.dirname(file))
}

/** Adds a complete file, or returns `false` if the file exists, which stays as it is. */
export const add = async (file: string, text: string): Promise<boolean> => {
  const unfinished = `${file}.${randomBytes(6).toString("hex")}`
  await write(unfinished, text)
  try {
    await fs.link(unfinished, file)
    await syncFolder(path.dirname(file))
    return true
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "EEXIST") return false
    throw cause
  } finally {
    await fs.rm(unfinished, { force: true })
  }
}

// Creates the data directory.

const orElse =
  (code: string) =>
  (cause: NodeJS.ErrnoException): undefined => {
    if (cause.code !== code) throw cause
  }

/**
 * Creates the folder and its missing parents, one after the other: `recursive` of Node tries for ever in a file system that
 * takes no folders, such as `/proc`, and reports a read-only one as a missing folder.
 */
export const makeFolder = async (folder: string, mode: number): Promise<void> => {
  const found = await fs.stat(folder).catch(orElse("ENOENT"))
  if (found?.isDirectory() === true) return
  if (found !== undefined) throw new Error(`${folder} is not a folder`)
  await makeFolder(path.dirname(folder), mode)
  // Another start may create it at the same time.
  await fs.mkdir(folder, { mode }).catch(orElse("EEXIST"))
}
