// Messages of version 1 as @solana/kit writes and reads them: the service reads what kit builds, and kit reads what the service builds.
import { assert, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import * as fs from "node:fs/promises"
import * as path from "node:path"
import type { MessageConfig } from "../../src/networks/solana/rules/Message.ts"
import { base64Of, bytesOf } from "../../src/networks/solana/rules/SolanaExchanges.ts"
import * as Wire from "../../src/networks/solana/rules/Wire.ts"
import { decodeTransaction } from "../../src/networks/solana/rules/Wire.ts"
import { folder } from "../../testkit/process/Folder.ts"
import { address } from "../../testkit/solana/Messages.ts"
import { random } from "../networks/solana/rules/explorer/Random.ts"
import { output, tools } from "./Setup.ts"

const count = 300

const { chance, int, pick } = random(17)

/** Programs have addresses of their own: kit refuses a program that is written. */
const programs = [60, 61, 62].map(address)
const accounts = Array.from({ length: 30 }, (_, index) => address(index + 1))
const [payer = ""] = accounts

const configOf = (): MessageConfig => ({
  ...(chance(0.5) ? { priorityFee: BigInt(int(2 ** 31)) * 2n ** BigInt(int(33)) } : {}),
  ...(chance(0.5) ? { computeUnitLimit: int(1_400_000) } : {}),
  ...(chance(0.5) ? { loadedBytes: int(2 ** 31) * 2 } : {}),
  ...(chance(0.5) ? { heapBytes: 32_768 + 1024 * int(225) } : {})
})

const instruction = (signers: ReadonlySet<string>) => ({
  program: pick(programs),
  accounts: Array.from({ length: int(8) }, () => {
    const account = pick(accounts)
    return { address: account, isSigner: signers.has(account), isWritable: account === payer || chance(0.5) }
  }),
  data: Uint8Array.from({ length: int(chance(0.1) ? 300 : 20) }, () => int(256))
})

const messageOf = () => {
  const signers = new Set([payer, ...Array.from({ length: int(4) }, () => pick(accounts))])
  return {
    payer,
    blockhash: address(200 + int(50)),
    config: configOf(),
    instructions: Array.from({ length: 1 + int(6) }, () => instruction(signers))
  }
}

/** What a configuration has, in the form in which kit shows it. */
const shown = ({ priorityFee, computeUnitLimit, loadedBytes, heapBytes }: MessageConfig) => {
  const values = [priorityFee, computeUnitLimit, loadedBytes, heapBytes]
  const mask = values.reduce<number>((sum, value, at) => sum + (value === undefined ? 0 : at === 0 ? 3 : 2 << at), 0)
  return [mask, ...values.flatMap((value) => (value === undefined ? [] : [String(value)]))]
}

/** Fields of the bytes, with addresses instead of indices: two compilers may give the accounts another order. */
const meaningOf = (raw: Uint8Array) => {
  const { message, messageBytes, signatures } = Result.getOrThrow(decodeTransaction(raw))
  assert.deepStrictEqual(Wire.transactionBytes(signatures, Wire.messageBytes(message)), raw)
  assert.deepStrictEqual(messageBytes, Wire.messageBytes(message))
  const { keys, signers, readonlySigners, readonlyOthers } = message
  const at = (index: number) => keys[index] ?? ""
  return {
    version: message.version,
    config: shown(message.config ?? {}),
    blockhash: message.blockhash,
    signing: keys.slice(0, signers - readonlySigners).toSorted(),
    readonlySigning: keys.slice(signers - readonlySigners, signers).toSorted(),
    readonly: keys.slice(keys.length - readonlyOthers).toSorted(),
    payer: at(0),
    instructions: message.instructions.map(({ program, accounts, data }) => [at(program), accounts.map(at), [...data]])
  }
}

it.effect(`${count} random messages of version 1 have one meaning for the service and for @solana/kit`, () =>
  Effect.gen(function* () {
    const messages = Array.from({ length: count }, messageOf).map((given) => {
      const message = Wire.buildMessage(given)
      const slots = Array.from({ length: message.signers }, () => undefined)
      return { given, message, raw: Wire.transactionBytes(slots, Wire.messageBytes(message)) }
    })
    const file = path.join(yield* folder, "messages.json")
    const asked = messages.map(({ given, raw }) => ({
      ...given,
      config: {
        ...given.config,
        ...(given.config.priorityFee === undefined ? {} : { priorityFee: String(given.config.priorityFee) })
      },
      instructions: given.instructions.map((one) => ({ ...one, data: [...one.data] })),
      wire: base64Of(raw)
    }))
    yield* Effect.promise(() => fs.writeFile(file, JSON.stringify(asked)))
    const printed = yield* output(tools, { PATH: process.env.PATH }, process.execPath, ["kit-messages.mjs", file])
    const answers: ReadonlyArray<{ readonly wire: string; readonly read: object }> = JSON.parse(printed)
    assert.lengthOf(answers, count)
    for (const [index, { read, wire }] of answers.entries()) {
      const { message, raw } = messages[index] ?? assert.fail("no message")
      assert.deepStrictEqual(meaningOf(bytesOf(wire)), meaningOf(raw))
      assert.deepStrictEqual(read, {
        version: 1,
        header: [message.signers, message.readonlySigners, message.readonlyOthers],
        blockhash: message.blockhash,
        keys: message.keys,
        config: shown(message.config ?? {}),
        instructions: message.instructions.map(({ program, accounts, data }) => [program, accounts, [...data]]),
        signers: message.keys.slice(0, message.signers)
      })
    }
  })
)
