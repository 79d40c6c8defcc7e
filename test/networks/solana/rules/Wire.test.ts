// The wire form of transactions: what is read, what is refused, and that what is built is read again as it was.
import { Result } from "effect"
import { assert, describe, it } from "@effect/vitest"
import { getAddressDecoder, getAddressEncoder } from "@solana/addresses"
import type { Message, MessageConfig } from "../../../../src/networks/solana/rules/Message.ts"
import * as Wire from "../../../../src/networks/solana/rules/Wire.ts"
import { decodeBase58, decodeTransaction, encodeBase58 } from "../../../../src/networks/solana/rules/Wire.ts"
import { cases } from "../../../../testkit/Depth.ts"
import { address, other, relayer, u32, u64, user } from "../../../../testkit/solana/Messages.ts"
import { read } from "./SecondReader.ts"
import type { Reading } from "./SecondReader.ts"
import { random } from "./explorer/Random.ts"

const program = address(7)

const message = Wire.buildMessage({
  payer: relayer,
  instructions: [
    {
      program,
      accounts: [
        { address: relayer, isWritable: true },
        { address: user, isWritable: true }
      ],
      data: Uint8Array.of(1, 2)
    },
    { program: address(8), accounts: [{ address: other, isWritable: false }], data: new Uint8Array(200) }
  ],
  blockhash: address(9)
})

const bytes = Wire.transactionBytes([undefined], Wire.messageBytes(message))

const problemOf = (raw: Uint8Array): string => {
  const decoded = decodeTransaction(raw)
  return Result.isFailure(decoded) ? `${decoded.failure.code}: ${decoded.failure.message}` : "none"
}

const changed = (raw: Uint8Array, at: number, value: number): Uint8Array =>
  raw.map((byte, index) => (index === at ? value : byte))

/** What both readers give, in one form. */
const formOf = ({ config, signatures, version, header, keys, blockhash, instructions, tables }: Reading) => ({
  version,
  config: config === undefined ? undefined : [config.mask, ...config.values],
  header: [...header],
  keys: keys.map(encodeBase58),
  blockhash: encodeBase58(blockhash),
  signatures: signatures.map((signature) => signature.some((byte) => byte !== 0)),
  instructions: instructions.map(({ program, accounts, data }) => [program, [...accounts], [...data]]),
  tables: tables.map(({ key, writable, readonly }) => [encodeBase58(key), [...writable], [...readonly]])
})

/** Random messages. Each is read as it is, and with a change. */
const messages = cases(10_000)

const verdictOf = (raw: Uint8Array) => {
  try {
    return formOf(read(raw))
  } catch {
    return "refused"
  }
}

/** The mask as it stands in the bytes, and the values that were read, as they would stand there. */
const valuesOf = ({ priorityFee, computeUnitLimit, loadedBytes, heapBytes }: MessageConfig, read: Uint8Array) => [
  Buffer.from(read).readUInt32LE(4),
  ...(priorityFee === undefined ? [] : u64(priorityFee)),
  ...[computeUnitLimit, loadedBytes, heapBytes].flatMap((value) => (value === undefined ? [] : u32(value)))
]

const ourVerdictOf = (raw: Uint8Array) => {
  const decoded = decodeTransaction(raw)
  if (Result.isFailure(decoded)) return "refused"
  const { message, messageBytes, signatures } = decoded.success
  const { config, version, signers, readonlySigners, readonlyOthers, keys, blockhash, instructions, tables } = message
  return {
    version,
    config: config === undefined ? undefined : valuesOf(config, messageBytes),
    header: [signers, readonlySigners, readonlyOthers],
    keys: [...keys],
    blockhash,
    signatures: signatures.map((signature) => signature !== undefined),
    instructions: instructions.map(({ program, accounts, data }) => [program, [...accounts], [...data]]),
    tables: tables.map(({ table, writable, readonly }) => [table, [...writable], [...readonly]])
  }
}

const randomConfig = (next: (limit: number) => number): MessageConfig => ({
  ...(next(2) === 0 ? {} : { priorityFee: BigInt(next(2 ** 31)) * 2n ** BigInt(next(33)) }),
  ...(next(2) === 0 ? {} : { computeUnitLimit: next(2_000_000) }),
  ...(next(2) === 0 ? {} : { loadedBytes: next(2 ** 31) * 2 }),
  ...(next(2) === 0 ? {} : { heapBytes: 1024 * (30 + next(230)) + (next(20) === 0 ? 1 : 0) })
})

/** Random bytes with the shape of a transaction, often with a mistake. */
const randomTransaction = (next: (limit: number) => number): Uint8Array => {
  const keys = 1 + next(10)
  const signers = 1 + next(Math.min(keys, 3))
  const readonlyOthers = next(keys - signers + 1)
  const indices = (count: number, limit: number) => Array.from({ length: count }, () => next(limit))
  const version: Message["version"] = (["legacy", 0, 1] as const)[next(3)] ?? 0
  const tables =
    version !== 0
      ? []
      : Array.from({ length: next(3) }, () => ({
          table: encodeBase58(Uint8Array.from(indices(32, 256))),
          writable: indices(next(4), 256),
          readonly: indices(next(4), 256)
        }))
  const loaded = tables.reduce((sum, { writable, readonly }) => sum + writable.length + readonly.length, 0)
  const random: Message = {
    version,
    ...(version === 1 ? { config: randomConfig(next) } : {}),
    signers,
    readonlySigners: next(signers),
    readonlyOthers,
    keys: Array.from({ length: keys }, () => encodeBase58(Uint8Array.from(indices(32, 256)))),
    blockhash: encodeBase58(Uint8Array.from(indices(32, 256))),
    instructions: Array.from({ length: next(5) }, () => ({
      program: next(keys + (next(20) === 0 ? 2 : 0)),
      accounts: indices(next(8), keys + loaded + (next(20) === 0 ? 1 : 0)),
      data: Uint8Array.from(indices(next(next(10) === 0 ? 300 : 20), 256))
    })),
    tables
  }
  const signatures = Array.from({ length: signers }, () =>
    next(2) === 0 ? undefined : Uint8Array.from(indices(64, 256))
  )
  return Wire.transactionBytes(signatures, Wire.messageBytes(random))
}

/** One byte changed, removed, added or repeated. */
const mutated = (raw: Uint8Array, next: (limit: number) => number): Uint8Array => {
  const at = next(raw.length)
  switch (next(4)) {
    case 0:
      return changed(raw, at, next(256))
    case 1:
      return Uint8Array.from([...raw.subarray(0, at), ...raw.subarray(at + 1)])
    case 2:
      return Uint8Array.from([...raw.subarray(0, at), next(256), ...raw.subarray(at)])
    default:
      return raw.subarray(0, at)
  }
}

describe("base58", () => {
  it("writes and reads keys as the library of the field does", () => {
    const [encoder, decoder] = [getAddressEncoder(), getAddressDecoder()]
    const next = random(3)
    for (let round = 0; round < 500; round++) {
      const zeros = round % 5
      const key = Uint8Array.from({ length: 32 }, (_, index) => (index < zeros ? 0 : next.int(256)))
      const text = encodeBase58(key)
      const library = decoder.decode(key)
      assert.strictEqual(text, library)
      assert.deepStrictEqual(decodeBase58(text), new Uint8Array(encoder.encode(library)))
    }
  })

  it("refuses texts of another length and with foreign characters", () => {
    assert.isUndefined(decodeBase58("1".repeat(31)))
    assert.isUndefined(decodeBase58("1".repeat(33)))
    assert.isUndefined(decodeBase58("0".repeat(32)))
    assert.isUndefined(decodeBase58("z".repeat(44)))
    assert.deepStrictEqual(decodeBase58("1".repeat(32)), new Uint8Array(32))
  })
})

describe("the wire form of transactions", () => {
  it("a message that is built is read again as it was", () => {
    const decoded = Result.getOrThrow(decodeTransaction(bytes))
    assert.deepStrictEqual(decoded.message, message)
    assert.deepStrictEqual(decoded.signatures, [undefined])
    assert.strictEqual(decoded.size, bytes.length)
    assert.deepStrictEqual(decoded.messageBytes, Wire.messageBytes(message))
  })

  it("accounts that a lookup table has are loaded from it, and programs are not", () => {
    const table = address(20)
    const built = Wire.buildMessage({
      payer: relayer,
      instructions: [
        {
          program,
          accounts: [
            { address: user, isWritable: true },
            { address: other, isWritable: false },
            { address: relayer, isWritable: true }
          ],
          data: new Uint8Array(0)
        }
      ],
      blockhash: address(9),
      tables: new Map([[table, [program, other, user, relayer]]])
    })
    assert.deepStrictEqual(built.keys, [relayer, program])
    assert.deepStrictEqual(built.tables, [{ table, writable: [2], readonly: [1] }])
    assert.deepStrictEqual(built.instructions[0]?.accounts, [2, 3, 0])
    const raw = Wire.transactionBytes([undefined], Wire.messageBytes(built))
    assert.deepStrictEqual(Result.getOrThrow(decodeTransaction(raw)).message, built)
  })

  it("bytes with two readings are refused", () => {
    const trailing = Uint8Array.from([...bytes, 0])
    // Behind one signature and a header of three bytes.
    const long = Uint8Array.from([...bytes.subarray(0, 68), 0x80 | (bytes[68] ?? 0), 0x00, ...bytes.subarray(69)])
    const withVersion = (byte: number) => Uint8Array.from([...bytes.subarray(0, 65), byte, ...bytes.subarray(65)])
    assert.strictEqual(problemOf(trailing), "malformed: 1 bytes are left over")
    assert.strictEqual(problemOf(long), "malformed: the length at byte 68 is not in its shortest form")
    assert.strictEqual(problemOf(withVersion(0x81)), "malformed: version 1 has its signatures behind the message")
    assert.match(problemOf(withVersion(0x82)), /^unsupported_version: a message of version 2; use/)
    for (const version of [2, 3, 127]) {
      assert.match(
        problemOf(changed(bytes, 0, 0x80 | version)),
        new RegExp(`^unsupported_version: .* ${version};`, "u")
      )
    }
    assert.strictEqual(
      problemOf(changed(bytes, 0, 0x80)),
      "malformed: version 0 has its signatures in front of the message"
    )
    assert.match(problemOf(bytes.subarray(0, 100)), /^malformed: the bytes end before byte/)
    assert.match(problemOf(new Uint8Array(0)), /^malformed/)
  })

  it("a key that occurs twice, and indices out of range, are refused", () => {
    const twice: Message = { ...message, keys: message.keys.map((key, index) => (index === 1 ? relayer : key)) }
    const raw = Wire.transactionBytes([undefined], Wire.messageBytes(twice))
    assert.strictEqual(problemOf(raw), "malformed: a key occurs twice")
    const [first, ...others] = message.instructions
    const foreign = {
      ...message,
      instructions: [{ ...first, program: 40, accounts: [], data: new Uint8Array(0) }, ...others]
    }
    const far = Wire.transactionBytes([undefined], Wire.messageBytes(foreign))
    assert.match(problemOf(far), /^malformed: instruction 0: the program must be one of the keys/)
  })

  it("a message of version 1 has its signatures last, its limits in a configuration, and no tables", () => {
    const config = { priorityFee: 2n ** 40n, computeUnitLimit: 1000, loadedBytes: 70_000, heapBytes: 65_536 }
    const built: Message = { ...message, version: 1, config }
    const raw = Wire.transactionBytes([undefined], Wire.messageBytes(built))
    const decoded = Result.getOrThrow(decodeTransaction(raw))
    assert.deepStrictEqual(decoded.message, built)
    assert.deepStrictEqual(decoded.messageBytes, raw.subarray(0, -64))
    assert.deepStrictEqual(decoded.signatures, [undefined])
    assert.deepStrictEqual([...raw.subarray(0, 8)], [0x81, 1, 0, message.readonlyOthers, 0b11111, 0, 0, 0])
    const empty = { ...built, config: {} }
    const nothing = Wire.transactionBytes([undefined], Wire.messageBytes(empty))
    assert.deepStrictEqual(Result.getOrThrow(decodeTransaction(nothing)).message, empty)
    assert.strictEqual(raw.length - nothing.length, 20)
  })

  it("version 1 has at most 12 signatures, 64 accounts and 64 instructions, and its heap has a unit", () => {
    const [instruction] = message.instructions
    const keys = (count: number) => Array.from({ length: count }, (_, index) => address(index + 1))
    const raw = (changes: Partial<Message>) => {
      const one: Message = { ...message, version: 1, config: {}, readonlyOthers: 0, ...changes }
      const slots = Array.from({ length: one.signers }, () => undefined)
      return Wire.transactionBytes(slots, Wire.messageBytes(one))
    }
    const many = (count: number) => Array.from({ length: count }, () => instruction ?? assert.fail("none"))
    for (const [most, more, expected] of [
      [{ signers: 12, keys: keys(20) }, { signers: 13, keys: keys(20) }, "has 13 signatures; version 1 has at most 12"],
      [{ keys: keys(64) }, { keys: keys(65) }, "has 65 accounts; version 1 has at most 64"],
      [{ instructions: many(64) }, { instructions: many(65) }, "has 65 instructions; version 1 has at most 64"],
      [{ config: { heapBytes: 262_144 } }, { config: { heapBytes: 263_168 } }, "asks for a heap of 263168 bytes"],
      [{ config: { heapBytes: 32_768 } }, { config: { heapBytes: 31_744 } }, "asks for a heap of 31744 bytes"],
      [{ config: { heapBytes: 33_792 } }, { config: { heapBytes: 33_793 } }, "asks for a heap of 33793 bytes"]
    ] as const) {
      assert.strictEqual(problemOf(raw(most)), "none")
      assert.include(problemOf(raw(more)), `malformed: ${expected}`)
    }
  })

  it("a configuration with half a fee, or with a value that is not known, is refused", () => {
    const built: Message = {
      ...message,
      version: 1,
      config: { computeUnitLimit: 1, loadedBytes: 2, heapBytes: 32_768 }
    }
    const raw = Wire.transactionBytes([undefined], Wire.messageBytes(built))
    // Each of these masks has as many bits, so that the rest of the bytes stays what it is.
    assert.match(problemOf(changed(raw, 4, 0b01101)), /^malformed: the configuration has one of the two bits of a fee/)
    assert.match(problemOf(changed(raw, 4, 0b01110)), /^malformed: the configuration has one of the two bits of a fee/)
    assert.match(problemOf(changed(raw, 4, 0b101100)), /^malformed: the configuration has values that are not known/)
    assert.match(problemOf(changed(raw, 7, 0x80)), /its mask is 2147483676$/)
  })

  it(`two independent readers give the same verdict on ${2 * messages} random and changed messages`, () => {
    const source = random(11)
    const next = (limit: number) => source.int(limit)
    let accepted = 0
    for (let round = 0; round < messages; round++) {
      const raw = randomTransaction(next)
      for (const one of [raw, mutated(raw, next)]) {
        const verdict = verdictOf(one)
        assert.strictEqual(JSON.stringify(ourVerdictOf(one)), JSON.stringify(verdict))
        if (verdict !== "refused") accepted++
      }
    }
    assert.isAbove(accepted, messages / 2)
  })

  it("a message that was read is written again with the same bytes", () => {
    const source = random(12)
    for (let round = 0; round < 1_000; round++) {
      const raw = randomTransaction((limit) => source.int(limit))
      const decoded = decodeTransaction(raw)
      if (Result.isFailure(decoded)) continue
      const { message, signatures } = decoded.success
      assert.deepStrictEqual(Wire.transactionBytes(signatures, Wire.messageBytes(message)), raw)
    }
  })
})
