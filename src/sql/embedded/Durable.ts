// Writes small files beside the data so that they are complete and on disk when a call returns.
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
