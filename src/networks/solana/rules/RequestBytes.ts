// The bytes of a request: those that are signed, until when they can land, and which transactions of the chain execute them.
import { Result } from "effect"
import { present } from "../../core/Presentation.ts"
import { nativeToken } from "./Guard.ts"
import type { GuardTerms } from "./Guard.ts"
import { highestVersion, isWritable, sizeWithSignatures } from "./Message.ts"
import type { Malformed, Message, MessageConfig, WireTransaction } from "./Message.ts"
import {
  computeBudgetProgram,
  defaultUnits,
  feeOf,
  instructionsOf,
  refusal,
  systemProgram,
  totalFee
} from "./Programs.ts"
import type { Instruction, Refusal } from "./Programs.ts"
import type { Solana, SolanaRequest } from "./Solana.ts"
import { base64Of, bytesOf, prebuiltOf } from "./SolanaExchanges.ts"
import type { ReplaceSolanaTransaction } from "./SolanaExchanges.ts"
import {
  blockhashLife,
  boundMargin,
  computeMargin,
  defaultComputeUnits,
  maxComputeUnits,
  maxLoadedBytes,
  microLamports,
  paymentUnits,
  pricePercentile,
  priceRise
} from "./SolanaNumbers.ts"
import type { Lifetime } from "./SolanaSeen.ts"
import { buildMessage, decodeTransaction, encodeBase58, keyBytes, messageBytes } from "./Wire.ts"
import type { BuiltInstruction } from "./Wire.ts"

/** What is stored of a body. */
export const requestOfBody = (body: ReplaceSolanaTransaction): SolanaRequest => ({
  ...present("transaction", body.transaction === undefined ? undefined : prebuiltOf(body.transaction)),
  ...present("instructions", body.instructions),
  ...present("speed", body.speed),
  ...present("compute_unit_limit", body.compute_unit_limit),
  ...present("compute_unit_price", body.compute_unit_price),
  ...present("max_fee_lamports", body.max_fee_lamports),
  ...present("address_lookup_tables", body.address_lookup_tables),
  ...present("version", body.version),
  ...present("simulate", body.simulate),
  ...present("wait_for_funds", body.wait_for_funds)
})

/** What never changes of it. `draft`: its bytes. */
export const factsOfBody = (
  { refresh = true, transaction }: ReplaceSolanaTransaction,
  { message, signatures }: WireTransaction
): Solana["facts"] => {
  const isPrebuilt = transaction !== undefined
  const [own] = isPrebuilt ? signatures : []
  return {
    isPrebuilt,
    isRefreshable: !isPrebuilt || (refresh && message.signers === 1),
    // Somebody has these bytes already.
    ...(own === undefined ? {} : { given: { hash: encodeBase58(own) } })
  }
}

/** Little-endian bytes behind a first byte that names the instruction. */
const numbered = (kind: number, value: bigint, bytes: number): Uint8Array =>
  Uint8Array.from([kind, ...Array.from({ length: bytes }, (_, index) => Number((value >> BigInt(8 * index)) & 255n))])

const budget = (data: Uint8Array): BuiltInstruction => ({ program: computeBudgetProgram, accounts: [], data })

/** What the service chooses for bytes that it builds. */
export interface Chosen {
  readonly blockhash: string
  /** Absent: no instruction sets it. */
  readonly computeUnitLimit?: number | undefined
  /** Micro-lamports per compute unit. */
  readonly computeUnitPrice: bigint
}

export interface Account {
  /** Base58. */
  readonly payer: string
  /** Contents of the lookup tables that the request names. */
  readonly tables: ReadonlyMap<string, ReadonlyArray<string>>
}

/** Whether the request brings instructions of the compute budget, so that the service adds none. */
export const hasOwnBudget = ({ instructions = [] }: SolanaRequest): boolean =>
  instructions.some(({ program_id }) => program_id === computeBudgetProgram)

/** What version 1 has instead of instructions of the compute budget. What it does not say would be nothing at all. */
const configOf = (
  instructions: ReadonlyArray<BuiltInstruction>,
  { computeUnitLimit, computeUnitPrice }: Chosen
): MessageConfig => {
  const units = computeUnitLimit ?? defaultUnits(instructions.map(({ program }) => program))
  return {
    ...(computeUnitPrice === 0n ? {} : { priorityFee: totalFee(0, computeUnitPrice, units) }),
    computeUnitLimit: units,
    loadedBytes: maxLoadedBytes
  }
}

const builtOf = (request: SolanaRequest, { payer, tables }: Account, chosen: Chosen): Message => {
  const { instructions = [], address_lookup_tables, version } = request
  const { blockhash, computeUnitLimit, computeUnitPrice } = chosen
  const own = hasOwnBudget(request)
  const limit = own || computeUnitLimit === undefined ? [] : [budget(numbered(2, BigInt(computeUnitLimit), 4))]
  const price = own || computeUnitPrice === 0n ? [] : [budget(numbered(3, computeUnitPrice, 8))]
  const given = instructions.map(({ program_id, accounts, data }) => ({
    program: program_id,
    accounts: accounts.map(({ pubkey, is_writable }) => ({ address: pubkey, isWritable: is_writable })),
    data: bytesOf(data)
  }))
  if (version === 1) {
    return buildMessage({ payer, instructions: given, blockhash, config: configOf(given, chosen) })
  }
  return buildMessage({
    payer,
    instructions: [...limit, ...price, ...given],
    blockhash,
    ...(address_lookup_tables === undefined ? {} : { tables })
  })
}

/** How many instructions the service has put before those of the request. */
export const addedTo = ({ instructions }: SolanaRequest, message: Message): number =>
  instructions === undefined ? 0 : message.instructions.length - instructions.length

const wireOf = (message: Message, signatures: WireTransaction["signatures"]): WireTransaction => {
  const bytes = messageBytes(message)
  return { message, messageBytes: bytes, signatures, size: sizeWithSignatures(message, bytes.length) }
}

/**
 * What is to be signed. Only the blockhash of a prebuilt message is exchanged, and only if the relayer is its only signer: other
 * signatures would not fit any more.
 */
export const unsignedOf = (
  request: SolanaRequest,
  account: Account,
  chosen: Chosen
): Result.Result<WireTransaction, Malformed> =>
  request.transaction === undefined
    ? Result.succeed(wireOf(builtOf(request, account, chosen), [undefined]))
    : Result.map(decodeTransaction(bytesOf(request.transaction)), (own) =>
        own.message.blockhash === chosen.blockhash
          ? own
          : wireOf({ ...own.message, blockhash: chosen.blockhash }, [undefined])
      )

/** Names the bytes of a prebuilt transaction: what is signed, which has its blockhash and so its chain. */
export const identityOf = ({ messageBytes }: WireTransaction): string => base64Of(messageBytes)

/** A key that no blockhash is: it stands for the blockhash that the service chooses later. */
export const noBlockhash = "1".repeat(keyBytes)

/**
 * The bytes that a request brings, or a draft of those that the service builds. A price costs nothing that could be named before the
 * limit of compute units is known, so a draft without a limit of the request has no price.
 */
export const draftOf = (request: SolanaRequest, account: Account): Result.Result<WireTransaction, Malformed> => {
  const { transaction, compute_unit_limit, compute_unit_price = 0n } = request
  return transaction === undefined
    ? unsignedOf(request, account, {
        blockhash: noBlockhash,
        computeUnitLimit: compute_unit_limit ?? maxComputeUnits,
        computeUnitPrice: compute_unit_limit === undefined ? 0n : compute_unit_price
      })
    : decodeTransaction(bytesOf(transaction))
}

// The price and the limit of compute units that a message offers.

export const percentileOf = (sorted: ReadonlyArray<bigint>, speed: SolanaRequest["speed"] = "fast"): bigint =>
  sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * pricePercentile[speed]) / 100))] ?? 0n

/** `former`: of the attempt before it, above which a refresh has to be. */
export const raisedPrice = (market: bigint, former = 0n): bigint => {
  const raised = (former * priceRise.numerator) / priceRise.denominator
  return market > raised ? market : raised
}

export const unitLimitOf = ({ compute_unit_limit }: SolanaRequest, units: number | undefined): number | undefined => {
  if (compute_unit_limit !== undefined) return compute_unit_limit
  if (units === undefined) return undefined
  const { numerator, denominator, units: more } = computeMargin
  return Math.min(maxComputeUnits, Math.ceil((units * numerator) / denominator) + more)
}

/** A price whose fee is within the cap. */
export const priceWithin = (price: bigint, cap: bigint, floor: bigint, units: number): bigint => {
  const highest = cap <= floor ? 0n : ((cap - floor) * microLamports) / BigInt(units)
  return price < highest ? price : highest
}

/** A price without a limit costs what the simulated limit makes of it, which is above the margin for instructions of the compute budget. */
export const brokenPrice = (
  { compute_unit_limit, compute_unit_price = 0n }: SolanaRequest,
  { message }: WireTransaction,
  { maxFee }: Pick<GuardTerms, "maxFee">
): Refusal | undefined => {
  const least = totalFee(feeOf(message).signatures, compute_unit_price, computeMargin.units)
  return compute_unit_limit === undefined && least > maxFee
    ? refusal("fee_above_cap", `costs at least ${least} lamports; at most ${maxFee} are allowed`)
    : undefined
}

// The last block height at which bytes can land. It does not rest on what one provider says.

/** `getLatestBlockhash` and `getBlockHeight` of one provider at the commitment `confirmed`. */
export interface ReportedLifetime {
  readonly lastValid: number
  readonly height: number
}

/** What another provider says of the blockhash, its newest block height, and the life that it reports. */
export interface SecondAnswer {
  readonly isValid: boolean
  readonly height: number
  readonly life: number
}

interface Lives {
  readonly minimum: number
  readonly maximum: number
}

const isLife = (life: number, { minimum, maximum }: Lives): boolean => life >= minimum && life <= maximum

/** Whether a life in blocks is one that a provider may report. */
export const isLifeOf = (life: number): boolean => isLife(life, blockhashLife)

/**
 * A blockhash that exists when the others are asked is not above their chains, so that their heights limit what a lying
 * provider can understate. The same holds for the life: the longest one counts. Undefined: another pair is needed.
 */
export const boundOf = (
  { lastValid, height }: ReportedLifetime,
  seconds: ReadonlyArray<SecondAnswer>,
  lives: Lives = blockhashLife
): number | undefined => {
  const all = [lastValid - height, ...seconds.map(({ life }) => life)]
  if (seconds.length === 0 || all.some((life) => !isLife(life, lives))) return undefined
  if (!seconds.every(({ isValid }) => isValid)) return undefined
  return Math.max(lastValid, Math.max(...seconds.map((second) => second.height)) + Math.max(...all)) + boundMargin
}

/** What a provider says of the blockhash that a request brings. */
export interface OwnAnswer extends SecondAnswer {
  /** The slot of the answer. */
  readonly slot: number
}

/**
 * Nothing says how old such a blockhash is, so its life is counted from now. Its bytes may have landed before the service saw
 * them, but not longer ago than two lives.
 */
export const boundOfOwn = (
  blockhash: string,
  answers: ReadonlyArray<OwnAnswer>,
  need: number,
  lives: Lives = blockhashLife
): Lifetime => {
  if (answers.filter(({ isValid }) => !isValid).length >= need) return "dead"
  const valid = answers.filter(({ isValid, life }) => isValid && isLife(life, lives))
  if (valid.length < need) return "unavailable"
  const life = Math.max(...valid.map((answer) => answer.life))
  return {
    blockhash,
    bound: Math.max(...valid.map(({ height }) => height)) + life + boundMargin,
    signedSlot: Math.max(0, Math.min(...valid.map(({ slot }) => slot)) - 2 * life)
  }
}

// Builds the transaction that a user signs: a payment to the relayer, and then what the user wants, with the relayer as fee payer.

const u64Bytes = (value: bigint): ReadonlyArray<number> =>
  Array.from({ length: 8 }, (_, index) => Number((value >> BigInt(8 * index)) & 255n))

interface Paying {
  readonly mint: string
  readonly tokenProgram: string
  readonly decimals: number
  readonly user: string
  /** The user's account of the token, and the relayer's. */
  readonly source: string
  readonly destination: string
  readonly relayer: string
  readonly amount: bigint
}

/** TransferChecked of the token, or a transfer of lamports. */
export const paymentInstruction = (paying: Paying): BuiltInstruction => {
  const { mint, tokenProgram, decimals, user, source, destination, relayer, amount } = paying
  const signing = { address: user, isSigner: true }
  if (mint === nativeToken) {
    return {
      program: systemProgram,
      accounts: [
        { ...signing, isWritable: true },
        { address: relayer, isWritable: true }
      ],
      data: Uint8Array.from([2, 0, 0, 0, ...u64Bytes(amount)])
    }
  }
  return {
    program: tokenProgram,
    accounts: [
      { address: source, isWritable: true },
      { address: mint, isWritable: false },
      { address: destination, isWritable: true },
      { ...signing, isWritable: false }
    ],
    data: Uint8Array.from([12, ...u64Bytes(amount), decimals])
  }
}

/** Tables that a message uses, with their contents. */
type Tables = ReadonlyMap<string, ReadonlyArray<string>>

/** The instructions of a message with what the runtime gives each account. `loaded`: what the tables load, writable ones first. */
const withRoles = (message: Message, loaded: ReadonlyArray<string>): ReadonlyArray<BuiltInstruction> => {
  const { signers } = message
  return instructionsOf(message, loaded).map(({ program, accounts, data }, at) => ({
    program,
    data,
    accounts: accounts.map((address, position) => {
      const index = message.instructions[at]?.accounts[position] ?? 0
      return { address, isWritable: isWritable(message, index), isSigner: index < signers }
    })
  }))
}

interface Sponsoring {
  readonly relayer: string
  readonly payment: BuiltInstruction
  readonly blockhash: string
  readonly loaded: ReadonlyArray<string>
  readonly tables: Tables
}

/**
 * What is not set in version 1 is nothing, and what is set is for the instructions of the user alone. Units and bytes cost no lamports
 * there: the fee is what the user names.
 */
const withRoomForPayment = ({ config = {}, instructions }: Message): MessageConfig => {
  const units = config.computeUnitLimit ?? defaultComputeUnits * instructions.length
  return { ...config, computeUnitLimit: Math.min(maxComputeUnits, units + paymentUnits), loadedBytes: maxLoadedBytes }
}

/** The payment comes first. The user's own fee payer signs the payment, so it stays a signer. */
export const sponsoredMessage = (
  message: Message,
  { relayer, payment, blockhash, loaded, tables }: Sponsoring
): Message =>
  buildMessage({
    payer: relayer,
    instructions: [payment, ...withRoles(message, loaded)],
    blockhash,
    ...(message.version === 0 ? { tables } : {}),
    ...(message.version === 1 ? { config: withRoomForPayment(message) } : {})
  })

// Whether a transaction on the chain is the execution of a request. After a restore it is the only trace of bytes that the ledger
// has forgotten.

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
export interface TransactionDescription {
  /** The first key, whose signature names the transaction. Absent: the node does not say. */
  readonly payer?: string
  readonly version?: "legacy" | number
}

/**
 * Whether a transaction that cannot be read executed no request of the relayer, whatever it did: another account paid for it, so that
 * the relayer's signature is not the one that names it; or its version is later than those in which the service signs requests.
 */
export const executesNone = ({ payer, version }: TransactionDescription, relayer: string): boolean =>
  (payer !== undefined && payer !== relayer) || (typeof version === "number" && version > highestVersion)
