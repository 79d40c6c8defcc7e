// The bytes that are signed for a request: those that it brings, or those that the service builds.
import { Result } from "effect"
import * as Base58 from "./Base58.ts"
import { maxComputeUnits, maxLoadedBytes } from "./SolanaNumbers.ts"
import { base64Of, bytesOf } from "./SendSolanaTransaction.ts"
import { defaultUnits, totalFee } from "./Fee.ts"
import { sizeWithSignatures } from "./Message.ts"
import type { Malformed, Message, MessageConfig, WireTransaction } from "./Message.ts"
import { computeBudgetProgram } from "./Programs.ts"
import type { SolanaRequest } from "./Solana.ts"
import { decode } from "./WireDecoding.ts"
import { build, messageBytes } from "./WireEncoding.ts"
import type { BuiltInstruction } from "./WireEncoding.ts"

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
    return build({ payer, instructions: given, blockhash, config: configOf(given, chosen) })
  }
  return build({
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
    : Result.map(decode(bytesOf(request.transaction)), (own) =>
        own.message.blockhash === chosen.blockhash
          ? own
          : wireOf({ ...own.message, blockhash: chosen.blockhash }, [undefined])
      )

/** Names the bytes of a prebuilt transaction: what is signed, which has its blockhash and so its chain. */
export const identityOf = ({ messageBytes }: WireTransaction): string => base64Of(messageBytes)

/** A key that no blockhash is: it stands for the blockhash that the service chooses later. */
export const noBlockhash = "1".repeat(Base58.keyBytes)

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
    : decode(bytesOf(transaction))
}
