// The message that a user signs: what the user wants, behind a payment, with another fee payer.
import { Result } from "effect"
import { assert, describe, it } from "@effect/vitest"
import { isWritable } from "../../../../src/networks/solana/rules/Message.ts"
import {
  instructionsOf,
  loadedBy,
  memoProgram,
  systemProgram,
  tokenProgram
} from "../../../../src/networks/solana/rules/Programs.ts"
import { paymentInstruction, sponsoredMessage } from "../../../../src/networks/solana/rules/RequestBytes.ts"
import * as Wire from "../../../../src/networks/solana/rules/Wire.ts"
import { decodeTransaction } from "../../../../src/networks/solana/rules/Wire.ts"
import { address } from "../../../../testkit/solana/Messages.ts"

const [relayer, user, cosigner, to, mint, source, destination, table, other] = [1, 2, 3, 4, 5, 6, 7, 8, 9].map(
  (number) => address(number)
)

const text = (value: string | undefined): string => value ?? assert.fail("no address")

const payment = paymentInstruction({
  mint: text(mint),
  tokenProgram,
  decimals: 6,
  user: text(user),
  source: text(source),
  destination: text(destination),
  relayer: text(relayer),
  amount: 1500n
})

const tables = new Map([[text(table), [text(other), text(to), text(mint)]]])

const wanted = (hasTables: boolean) =>
  Wire.buildMessage({
    payer: text(user),
    blockhash: text(other),
    instructions: [
      {
        program: systemProgram,
        accounts: [
          { address: text(cosigner), isWritable: true, isSigner: true },
          { address: text(to), isWritable: true }
        ],
        data: Uint8Array.of(2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0)
      },
      {
        program: memoProgram,
        accounts: [
          { address: text(user), isWritable: false, isSigner: true },
          { address: text(other), isWritable: false }
        ],
        data: Buffer.from("hello")
      }
    ],
    ...(hasTables ? { tables } : {})
  })

const states = new Map([[text(table), { _tag: "Active" as const, addresses: tables.get(text(table)) ?? [] }]])

const loadedOf = (message: ReturnType<typeof wanted>): ReadonlyArray<string> => {
  const loaded = loadedBy(message, states)
  return "code" in loaded ? assert.fail(loaded.message) : loaded
}

describe("a sponsored message", () => {
  it.each([false, true])("executes the payment and then what the user wants; with tables: %s", (hasTables) => {
    const message = wanted(hasTables)
    const loaded = loadedOf(message)
    const built = sponsoredMessage(message, { relayer: text(relayer), payment, blockhash: text(to), loaded, tables })
    const bytes = Wire.transactionBytes([undefined, undefined, undefined], Wire.messageBytes(built))
    assert.deepStrictEqual(Result.getOrThrow(decodeTransaction(bytes)).message, built)
    assert.strictEqual(built.version, message.version)
    assert.strictEqual(built.keys[0], relayer)
    assert.sameMembers(built.keys.slice(0, built.signers), [relayer, user, cosigner].map(text))
    const [first, ...rest] = instructionsOf(built, loadedOf(built))
    assert.deepStrictEqual(first?.accounts, [source, mint, destination, user].map(text))
    assert.deepStrictEqual(rest, [...instructionsOf(message, loaded)])
    assert.isTrue(isWritable(built, built.keys.indexOf(text(cosigner))))
  })

  it("loads accounts of the payment from a table of the user, and no account twice", () => {
    const message = wanted(true)
    const built = sponsoredMessage(message, {
      relayer: text(relayer),
      payment,
      blockhash: text(to),
      loaded: loadedOf(message),
      tables
    })
    const all = [...built.keys, ...loadedOf(built)]
    assert.strictEqual(new Set(all).size, all.length)
    assert.isFalse(built.keys.includes(text(mint)))
  })
})
