// Another reader of transactions, written for tests only: it throws at the first problem, and gives nothing but the verdict and
// the addresses as bytes. It shares no code with the service.
export interface Reading {
  readonly signatures: ReadonlyArray<Uint8Array>
  readonly version: "legacy" | 0 | 1
  /** Of version 1: the mask, and the values as they stand in the bytes. */
  readonly config?: { readonly mask: number; readonly values: Uint8Array }
  readonly header: readonly [number, number, number]
  readonly keys: ReadonlyArray<Uint8Array>
  readonly blockhash: Uint8Array
  readonly instructions: ReadonlyArray<{
    readonly program: number
    readonly accounts: Uint8Array
    readonly data: Uint8Array
  }>
  readonly tables: ReadonlyArray<{
    readonly key: Uint8Array
    readonly writable: Uint8Array
    readonly readonly: Uint8Array
  }>
}

const same = (one: Uint8Array, other: Uint8Array): boolean => Buffer.compare(one, other) === 0

const refuse = (reason: string): never => {
  throw new Error(reason)
}

const check = ({ config, signatures, header, keys, instructions, tables }: Reading): void => {
  const [signers, readonlySigners, readonlyOthers] = header
  if (signatures.length !== signers) refuse("signatures do not fit the header")
  if (signers < 1 || readonlySigners >= signers) refuse("the fee payer is no writable signer")
  if (signers + readonlyOthers > keys.length) refuse("the header has too many keys")
  for (const [index, key] of keys.entries()) {
    for (const later of keys.slice(index + 1)) if (same(key, later)) refuse("a key twice")
  }
  const loaded = tables.reduce((sum, { writable, readonly }) => sum + writable.length + readonly.length, 0)
  for (const { program, accounts } of instructions) {
    if (program === 0 || program >= keys.length) refuse("program index")
    for (const account of accounts) if (account >= keys.length + loaded) refuse("account index")
  }
  if (config === undefined) return
  if (signers > 12 || keys.length > 64 || instructions.length > 64) refuse("more than version 1 allows")
  if ((config.mask & 16) === 0) return
  const heap = Buffer.from(config.values).readUInt32LE(config.values.length - 4)
  if (heap < 32 * 1024 || heap > 256 * 1024 || heap % 1024 !== 0) refuse("heap")
}

/** Version 1: every part has a fixed place behind the counts, and the signatures are what is left. */
const readVersion1 = (raw: Uint8Array): Reading => {
  const all = Buffer.from(raw)
  const part = (from: number, size: number): Uint8Array =>
    from + size > all.length ? refuse("too short") : all.subarray(from, from + size)
  const fixed = part(0, 42)
  const [signers = 0, readonlySigners = 0, readonlyOthers = 0] = fixed.subarray(1, 4)
  const mask = all.readUInt32LE(4)
  if (mask > 31 || (mask & 3) === 1 || (mask & 3) === 2) refuse("mask")
  const [count = 0, keyCount = 0] = fixed.subarray(40)
  const valuesAt = 42 + 32 * keyCount
  const values = part(valuesAt, 4 * mask.toString(2).replaceAll("0", "").length)
  const headersAt = valuesAt + values.length
  const headers = Buffer.from(part(headersAt, 4 * count))
  let at = headersAt + headers.length
  const instructions = Array.from({ length: count }, (_, index) => {
    const accounts = part(at, headers[4 * index + 1] ?? 0)
    const data = part(at + accounts.length, headers.readUInt16LE(4 * index + 2))
    at += accounts.length + data.length
    return { program: headers[4 * index] ?? 0, accounts, data }
  })
  if (at + 64 * signers !== all.length) refuse("signatures")
  return {
    version: 1,
    config: { mask, values },
    header: [signers, readonlySigners, readonlyOthers],
    blockhash: part(8, 32),
    keys: Array.from({ length: keyCount }, (_, index) => part(42 + 32 * index, 32)),
    instructions,
    tables: [],
    signatures: Array.from({ length: signers }, (_, index) => part(at + 64 * index, 64))
  }
}

/** Throws if the bytes are not a transaction. */
export const read = (raw: Uint8Array): Reading => {
  if (raw[0] !== 129) return readSigned(raw)
  const reading = readVersion1(raw)
  check(reading)
  return reading
}

const readSigned = (raw: Uint8Array): Reading => {
  let rest = Buffer.from(raw)
  const cut = (size: number): Uint8Array => {
    if (size > rest.length) refuse("too short")
    const part = rest.subarray(0, size)
    rest = rest.subarray(size)
    return part
  }
  const one = (): number => cut(1)[0] ?? refuse("too short")
  if ((rest[0] ?? 0) > 127) refuse("no count of signatures")
  const count = (): number => {
    const first = one()
    if (first < 128) return first
    const second = one()
    if (second === 0) refuse("length")
    if (second < 128) return (first - 128) | (second << 7)
    const third = one()
    if (third === 0 || third > 3) refuse("length")
    return (first - 128) | ((second - 128) << 7) | (third << 14)
  }
  const many = <A>(next: () => A): Array<A> => {
    const found: Array<A> = []
    for (let left = count(); left > 0; left--) found.push(next())
    return found
  }
  const signatures = many(() => cut(64))
  const isVersioned = (rest[0] ?? 0) > 127
  if (isVersioned && one() !== 128) refuse("version")
  const version = isVersioned ? 0 : "legacy"
  const reading: Reading = {
    signatures,
    version,
    header: [one(), one(), one()],
    keys: many(() => cut(32)),
    blockhash: cut(32),
    instructions: many(() => ({ program: one(), accounts: cut(count()), data: cut(count()) })),
    tables: isVersioned ? many(() => ({ key: cut(32), writable: cut(count()), readonly: cut(count()) })) : []
  }
  if (rest.length > 0) refuse("bytes left over")
  check(reading)
  return reading
}
