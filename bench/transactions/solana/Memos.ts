// The transactions of the benchmark on solana: memos, of which no two are equal.
import { computeBudgetProgram, memoProgram } from "../../../src/networks/solana/rules/Programs.ts"
import { base64Of } from "../../../src/networks/solana/rules/SolanaExchanges.ts"
import * as Wire from "../../../src/networks/solana/rules/Wire.ts"
import { u32 } from "../../../testkit/solana/Messages.ts"

let count = 0

/** A text that no other memo of this process has. */
const nextText = (): Buffer => {
  count += 1
  return Buffer.from(`bench ${String(count).padStart(9, "0")}`)
}

const requestWith = (text: Buffer): string =>
  JSON.stringify({ instructions: [{ program_id: memoProgram, accounts: [], data: base64Of(text) }] })

/** The JSON text of the next request. */
export const nextRequest = (): string => requestWith(nextText())

/** The JSON text of a request that is never sent to the chain. */
export const request = requestWith(Buffer.from("bench"))

/** Compute units that a memo takes at most. */
const units = 1000

/** The next memo as bytes to sign, with the instructions that the service adds as well. */
export const nextMessage = (payer: string, blockhash: string): Uint8Array =>
  Wire.messageBytes(
    Wire.buildMessage({
      payer,
      instructions: [
        { program: computeBudgetProgram, accounts: [], data: Uint8Array.from([2, ...u32(units)]) },
        { program: memoProgram, accounts: [], data: nextText() }
      ],
      blockhash
    })
  )
