// Every number that decides something about transactions of solana, with its unit and its source.
import { rentExemptMinimum } from "../../../domain/relayer/TopUp.ts"

/** Milliseconds. */
const second = 1000
const minute = 60 * second

// Proofs

/** Slots after which a block is final: a vote of Agave is final when 31 others follow it (`MAX_LOCKOUT_HISTORY`). */
export const finalizedAfter = 32

/** Blocks that the finalized height must be above the bound of an attempt before its bytes count as dead. */
export const boundMargin = 1

/** Milliseconds between the two looks that a provider needs if it decides alone. */
export const looksApart = 10 * second

/** Attempts of one transaction. */
export const maxAttempts = 20

/** Blocks for which a blockhash may live, as a provider reports it. Agave accepts ages 0 to 150; nodes have reported 300. */
export const blockhashLife = { minimum: 100, maximum: 600 } as const

/** Milliseconds for which providers have to call the blockhash of a request dead: a node that lags does not know it yet. */
export const deadAfter = 5 * second

/** Milliseconds after the newest signature from which an operator may answer for a proof that is missing. */
export const answerableAfter = 24 * 60 * minute

/** The same if no provider has the blocks any more, so that none of them can ever prove it. */
export const unprovableAfter = 10 * minute

/**
 * Milliseconds after a signature in which its blockhash dies and its death is finalized: the longest life, at a second a block. If no
 * provider has finalized the bound by then, finality stands still.
 */
export const provableAfter = blockhashLife.maximum * second

/**
 * Lives of a blockhash, above the newest height that providers know, for which bytes of a lost process may land: one of the
 * bytes, and one because every provider may lag.
 */
export const livesAfterRestore = 2

/** Unknown signatures of the address that one poll compares with restored requests. */
export const maxCompared = 100

/** Providers that are asked in one look. */
export const maxAskedProviders = 5

/** Entries of the list of an address that one call returns, and pages of it that one look reads. */
export const listPage = { entries: 1000, pages: 20 } as const

/** Slots below the finalized slot that the next look at the list of an address reads again, because an index may lag so far. */
export const listSettled = 32

/** Blocks without transactions that one call reads to find one that has any. */
export const emptyBlocks = 64

/** Milliseconds for which a lane remembers what it has read of the list of its address. */
export const listKept = minute

/** Signatures in one question for statuses: the limit of the method. */
export const maxStatuses = 256

// Sends

/** Transactions of a relayer that may be in flight at once, if its network does not say how many. */
export const windowSize = 64

/** Milliseconds after which bytes are sent again. `maxRetries` is 0, so that no node repeats them. */
export const rebroadcastAfter = 2 * second

/** Milliseconds that a poll waits for what providers say of transactions that are final. Without it, their fees are computed. */
export const landingPatience = 2 * second

/** Milliseconds between two looks at the signatures of a lane. */
export const pollAfter = 2 * second

// Requests

/** Milliseconds from acceptance, or from `not_before` if that is later, to the deadline of a request without `valid_until`. */
export const defaultValidity = 30 * minute

/** Instructions of a transaction (SIMD-0160), and accounts of one instruction (SIMD-0406) and of all together. */
export const maxInstructions = 64
export const maxInstructionAccounts = 255
export const maxMessageAccounts = 256

/** Instructions of the compute budget that the service adds to those of a request: a limit and a price. */
export const addedInstructions = 2

/** Accounts that the instructions of a request name together. */
export const maxAccounts = 64

/** Lookup tables that a request may name. */
export const maxTables = 8

/** Bytes of a transaction with its signatures: what fits into a packet of the network. */
export const maxTransactionBytes = 1232

/** What a transaction of version 1 has at most, with bytes for its signatures: SIMD-0385. */
export const version1 = { bytes: 4096, signatures: 12, keys: 64, instructions: 64 } as const

/** Bytes of heap that a transaction of version 1 may ask for: SIMD-0385. */
export const heapBytes = { minimum: 32_768, maximum: 262_144, step: 1024 } as const

/** Signatures of a transaction if the policy sets no limit: as many as fit into a packet beside a small message. */
export const defaultMaxSignatures = 12

// Building

/** Milliseconds for which the transactions of a lane share a blockhash, and for which prices and the rent are kept. */
export const sharedFor = { blockhash: 2 * second, prices: 10 * second, rent: 10 * minute } as const

/** Compute units above the simulated ones: a tenth, and twice what an instruction of the compute budget costs. */
export const computeMargin = { numerator: 11, denominator: 10, units: 300 } as const

/** How much more an attempt offers than the one before it, at least: one and a half times the price. */
export const priceRise = { numerator: 3n, denominator: 2n } as const

/** Equal requests within one blockhash that get different limits of compute units. */
export const maxEqualMessages = 1000

/** Bytes of a lookup table: its header and 256 addresses. */
export const maxTableBytes = 56 + 256 * 32

/** Bytes of a mint with its extensions that are read. One whose extensions do not fit is refused. */
export const maxMintBytes = 16_384

/** Writable accounts that a question for recent prices may name: the limit of the method. */
export const maxPricedAccounts = 128

/** Slots for which a price counts as recent: as many blocks as nodes keep prices of. */
export const pricedSlots = 150

/** The share of recent prices, in percent, that each speed offers. */
export const pricePercentile = { safeLow: 25, average: 50, fast: 75, fastest: 95 } as const

// Fees

/** Lamports per signature. */
export const lamportsPerSignature = 5000n

/** Micro-lamports in a lamport. Prices of compute units are in micro-lamports. */
export const microLamports = 1_000_000n

/** Compute units of a transaction at most. */
export const maxComputeUnits = 1_400_000

/** Compute units per instruction that the runtime allows a transaction without a limit of its own. */
export const defaultComputeUnits = 200_000

/** The same for an instruction of a builtin program: SIMD-0170. */
export const builtinComputeUnits = 3000

/**
 * Bytes of accounts that a transaction may load: what the runtime allows one of an earlier version that says nothing about it. One
 * of version 1 that says nothing may load none.
 */
export const maxLoadedBytes = 64 * 1024 * 1024

/**
 * Compute units above those of the user for the payment of a sponsored transaction of version 1, which would have none otherwise:
 * three times what TransferChecked of the token programs takes.
 */
export const paymentUnits = 20_000

/** Highest fee in lamports if neither policy nor request has a cap. */
export const defaultMaxFee = 1_000_000n

/** Signatures that instructions of precompiles may claim. Each costs as much as a signature of the transaction. */
export const maxPrecompileSignatures = 8

/**
 * If a sponsored transaction fails on the chain, the relayer pays the fee, and the user does not pay the relayer. If more than
 * `percent` % of the newest `of` of an API key failed, the key gets no signature for `hold` milliseconds after the last failure.
 */
export const failing = { of: 50, percent: 20, hold: minute } as const

/** Decimals of SOL: lamports are its units. */
export const solDecimals = 9

// Funds

/** Lamports that an account without data needs to exist. A fee payer below it cannot pay. */
export const rentMinimum = rentExemptMinimum

/** The least after the last of the five steps. */
export const leastRentMinimum = rentMinimum / 10n

/**
 * Lamports that a new token account takes from its funder: 165 bytes; with the extensions that Token-2022 adds. They belong to the rent
 * minimum above, and are lowered with it.
 */
export const tokenAccountRent = { token: 2_039_280n, token2022: 2_500_000n } as const

/** Bytes of a seed of an address that is derived with one. */
export const maxSeedBytes = 32
