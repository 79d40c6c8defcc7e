// Keeps the blocks of a cluster in a file, so that a second start finds them. The pool is forgotten, as by a node.
import { Result } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { base64Of, bytesOf } from "../../src/networks/solana/rules/SolanaExchanges.ts"
import { decodeTransaction, transactionBytes } from "../../src/networks/solana/rules/Wire.ts"
import type { Accounts } from "./Accounts.ts"
import type * as Bank from "./Bank.ts"
import * as Cluster from "./Cluster.ts"
import type { Block, Blocks } from "./Cluster.ts"

interface Line extends Pick<Block, "slot" | "height" | "blockhash" | "time"> {
  /** The bytes as base64. */
  readonly transactions: ReadonlyArray<Omit<Block["transactions"][number], "wire"> & { readonly raw: string }>
  /** Accounts that are not as the block before has them. Null: closed. */
  readonly changed: Readonly<Record<string, { lamports: string; owner: string; data: string } | null>>
}

const changedBy = (before: Accounts, after: Accounts): Line["changed"] => {
  const changed: Record<string, Line["changed"][string]> = {}
  for (const address of before.keys()) if (!after.has(address)) changed[address] = null
  for (const [address, account] of after) {
    const { lamports, owner, data } = account
    if (before.get(address) !== account) changed[address] = { lamports: String(lamports), owner, data: base64Of(data) }
  }
  return changed
}

const lineOf = ({ slot, height, blockhash, time, transactions, accounts }: Block, before: Accounts): string => {
  const line: Line = {
    slot,
    height,
    blockhash,
    ...(time === undefined ? {} : { time }),
    transactions: transactions.map(({ wire, ...rest }) => ({
      ...rest,
      raw: base64Of(transactionBytes(wire.signatures, wire.messageBytes))
    })),
    changed: changedBy(before, accounts)
  }
  return `${JSON.stringify(line)}\n`
}

const blockOf = ({ changed, transactions, ...rest }: Line, before: Accounts): Block => {
  const accounts = new Map(before)
  for (const [address, account] of Object.entries(changed)) {
    if (account === null) accounts.delete(address)
    else {
      const { lamports, owner, data } = account
      accounts.set(address, { lamports: BigInt(lamports), owner, data: bytesOf(data) })
    }
  }
  return {
    ...rest,
    transactions: transactions.map(({ raw, ...one }) => ({
      ...one,
      wire: Result.getOrThrow(decodeTransaction(bytesOf(raw)))
    })),
    // Blocks without transactions share the accounts of the block before.
    accounts: Object.keys(changed).length === 0 ? before : accounts
  }
}

/** The lines that were written as a whole: a killed process may leave a part of one at the end. */
const linesOf = (text: string): ReadonlyArray<string> =>
  text
    .slice(0, text.lastIndexOf("\n") + 1)
    .split("\n")
    .slice(0, -1)

const read = (file: string): Blocks | undefined => {
  if (!fs.existsSync(file)) return undefined
  const text = fs.readFileSync(file, "utf8")
  const lines = linesOf(text)
  // The next block would continue the part of a line.
  fs.truncateSync(file, Buffer.byteLength(lines.map((line) => `${line}\n`).join("")))
  const blocks: Array<Block> = []
  for (const line of lines) blocks.push(blockOf(JSON.parse(line), blocks.at(-1)?.accounts ?? new Map()))
  return blocks.length === 0 ? undefined : blocks
}

/** The cluster of the directory, or a new one. Each block is in the file before anybody sees it. */
export const open = (directory: string, run: Bank.Run): Cluster.Cluster => {
  fs.mkdirSync(directory, { recursive: true })
  const file = path.join(directory, "blocks.jsonl")
  const blocks = read(file)
  let before: Accounts = blocks?.at(-1)?.accounts ?? new Map()
  const record = (block: Block) => {
    fs.appendFileSync(file, lineOf(block, before))
    before = block.accounts
  }
  const cluster = Cluster.make({ run, record, ...(blocks === undefined ? {} : { blocks }) })
  if (blocks === undefined) for (const block of cluster.blocks) record(block)
  return cluster
}
