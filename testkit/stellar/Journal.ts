// Keeps the ledgers of the stand-in in a file, so that a second start finds them. Queues and bans are forgotten, as by a node.
import * as fs from "node:fs"
import * as path from "node:path"
import { Network } from "./Network.ts"
import type { Options, Written } from "./Network.ts"

const replacer = (_: string, value: unknown): unknown => (typeof value === "bigint" ? { bigint: String(value) } : value)

const reviver = (_: string, value: unknown): unknown =>
  typeof value === "object" && value !== null && "bigint" in value ? BigInt(String(value.bigint)) : value

const lineOf = (value: unknown): string => `${JSON.stringify(value, replacer)}\n`

interface Header {
  readonly passphrase: string
  readonly first: NonNullable<Options["first"]>
}

/** The lines that were written as a whole: a killed process may leave a part of one at the end. */
const linesOf = (text: string): ReadonlyArray<string> =>
  text
    .slice(0, text.lastIndexOf("\n") + 1)
    .split("\n")
    .slice(0, -1)

/** The network of the directory, or a new one. A directory belongs to one passphrase. */
export const open = (directory: string, options: Omit<Options, "first">): Network => {
  fs.mkdirSync(directory, { recursive: true })
  const file = path.join(directory, "ledgers.jsonl")
  const lines = fs.existsSync(file) ? linesOf(fs.readFileSync(file, "utf8")) : []
  const [head, ...rest] = lines
  const header: Header | undefined = head === undefined ? undefined : JSON.parse(head)
  if (header !== undefined && header.passphrase !== options.passphrase) {
    throw new Error(`${file} belongs to the network "${header.passphrase}": use another directory, or its passphrase`)
  }
  const network = new Network(header === undefined ? options : { ...options, first: header.first })
  for (const line of rest) {
    const written: Written = JSON.parse(line, reviver)
    network.replay(written)
  }
  // The file is written anew without the part of a line that a killed process left.
  const { closeTime } = network.ledgerAt(network.firstLedger)
  const first = { number: network.firstLedger, closeTime }
  const kept = [lineOf({ passphrase: options.passphrase, first }), ...rest.map((line) => `${line}\n`)]
  const next = `${file}.new`
  fs.writeFileSync(next, kept.join(""))
  fs.renameSync(next, file)
  network.record = (written) => fs.appendFileSync(file, lineOf(written))
  return network
}
