// Files beside the data that are on disk, whole, when a call returns.
import { randomBytes } from "node:crypto"
import * as fs from "node:fs/promises"
import * as path from "node:path"

/** For its owner only. Fails where the file is there. */
export const write = async (file: string, text: string): Promise<void> => {
  const handle = await fs.open(file, "wx", 0o600)
  try {
    await handle.writeFile(`${text}\n`)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** What has been renamed or linked in it is on disk when this returns; Windows cannot open folders. */
export const syncFolder = async (folder: string): Promise<void> => {
  if (process.platform === "win32") return
  const handle = await fs.open(folder, "r")
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Never half there, and never in place of another one: then `false`. */
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
