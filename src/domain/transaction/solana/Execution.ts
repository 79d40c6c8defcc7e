// Whether a transaction on the chain is the execution of a request. After a restore it is the only trace of bytes that the ledger
// has forgotten.
import { instructionsOf } from "./Instruction.ts"
import type { Instruction } from "./Instruction.ts"
import { highestVersion } from "./Message.ts"
import type { Message } from "./Message.ts"
import { computeBudgetProgram } from "./Programs.ts"
import { base64Of, bytesOf } from "./SendSolanaTransaction.ts"
import type { SolanaRequest } from "./Solana.ts"
import { draftOf } from "./Unsigned.ts"

/** What it does: the price, the limit of compute units and the blockhash differ from attempt to attempt. */
const effectOf = (instructions: ReadonlyArray<Instruction>): string =>
  JSON.stringify(
    instructions
      .filter(({ program }) => program !== computeBudgetProgram)
      .map(({ program, accounts, data }) => [program, accounts, base64Of(data)])
  )

/** Accounts that tables load are named by their places in the tables. */
const symbolic = ({ tables }: Message): ReadonlyArray<string> =>
  (["writable", "readonly"] as const).flatMap((kind) =>
    tables.flatMap((lookup) => lookup[kind].map((index) => `${lookup.table} ${index}`))
  )

const requestedBy = ({ instructions = [] }: SolanaRequest): ReadonlyArray<Instruction> =>
  instructions.map(({ program_id, accounts, data }) => ({
    program: program_id,
    accounts: accounts.map(({ pubkey }) => pubkey),
    data: bytesOf(data)
  }))

/** `loaded`: the addresses that the chain loaded from tables, all writable ones first. */
export const executes = (
  message: Message,
  loaded: ReadonlyArray<string>,
  payer: string,
  request: SolanaRequest
): boolean => {
  if (message.keys[0] !== payer) return false
  if (request.transaction === undefined) {
    return effectOf(instructionsOf(message, loaded)) === effectOf(requestedBy(request))
  }
  const own = draftOf(request, { payer, tables: new Map() })
  if (own._tag === "Failure") return false
  const effect = (one: Message) => effectOf(instructionsOf(one, symbolic(one)))
  return effect(message) === effect(own.success.message)
}

/** What a node says of a transaction whose bytes the service cannot read. */
export interface Description {
  /** The first key, whose signature names the transaction. Absent: the node does not say. */
  readonly payer?: string
  readonly version?: "legacy" | number
}

/**
 * Whether a transaction that cannot be read executed no request of the relayer, whatever it did: another account paid for it, so that
 * the relayer's signature is not the one that names it; or its version is later than those in which the service signs requests.
 */
export const executesNone = ({ payer, version }: Description, relayer: string): boolean =>
  (payer !== undefined && payer !== relayer) || (typeof version === "number" && version > highestVersion)
