// Loaded into each process of a run by NODE_OPTIONS: records each distinct statement that the process sends to PostgreSQL to a file of
// its own in the folder STATEMENTS. A line has the text, with `$n` for its parameters, and the numbers of their types, as JSON.
import { createHash } from "node:crypto"
import { appendFileSync } from "node:fs"
import { Socket } from "node:net"
import { join } from "node:path"
import { isMainThread, threadId } from "node:worker_threads"

const folder = process.env.STATEMENTS
const file = folder && join(folder, `${process.pid}${isMainThread ? "" : `-${threadId}`}.jsonl`)
const seen = new Set()

/** The types of messages that a client sends. Each is followed by its length of four bytes, which counts itself. */
const types = new Set(Buffer.from("BCDEFHPQSXcdfp"))
const parse = 0x50
const close = 0x43
const headBytes = 5

/** The statements in the messages of a write. A write of another protocol has no valid sequence of messages, and gives none. */
const statementsOf = (bytes) => {
  const statements = []
  let at = 0
  while (at < bytes.length) {
    if (at + headBytes > bytes.length || !types.has(bytes[at])) return []
    const end = at + 1 + bytes.readUInt32BE(at + 1)
    if (end > bytes.length || end < at + headBytes) return []
    if (bytes[at] === parse) {
      const nameEnd = bytes.indexOf(0, at + headBytes)
      const textEnd = bytes.indexOf(0, nameEnd + 1)
      if (nameEnd < 0 || textEnd < 0 || textEnd >= end) return []
      const count = bytes.readUInt16BE(textEnd + 1)
      const parameters = Array.from({ length: count }, (_, index) => bytes.readUInt32BE(textEnd + 3 + 4 * index))
      statements.push(JSON.stringify([bytes.toString("utf8", nameEnd + 1, textEnd), parameters]))
    }
    at = end
  }
  return statements
}

const record = (statement) => {
  const key = createHash("sha1").update(statement).digest("base64")
  if (seen.has(key)) return
  seen.add(key)
  appendFileSync(file, `${statement}\n`)
}

if (folder) {
  const write = Socket.prototype.write
  Socket.prototype.write = function (chunk, ...rest) {
    // The client closes statements in the same write in which it prepares the next one.
    if (chunk instanceof Uint8Array && (chunk[0] === parse || chunk[0] === close)) {
      for (const statement of statementsOf(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)))
        record(statement)
    }
    return write.call(this, chunk, ...rest)
  }
}
