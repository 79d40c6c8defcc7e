// The end of the terminal: a request to stop, as SIGTERM is, unless whoever started the process (`nohup`) says otherwise.
import * as fs from "node:fs"

/** Of the mask of ignored signals, the lowest bit is SIGHUP's. Only Linux tells. */
const isIgnored = (): boolean => {
  try {
    const mask = /^SigIgn:\s*(?<mask>[0-9a-f]+)$/m.exec(fs.readFileSync("/proc/self/status", "utf8"))?.groups?.mask
    return mask !== undefined && (BigInt(`0x${mask}`) & 1n) === 1n
  } catch {
    return false
  }
}

export const stopAtHangUp = (): void => {
  if (!isIgnored()) process.on("SIGHUP", () => process.emit("SIGTERM"))
}
