// Every number that decides something about transactions, with its unit and its source.
// `NetworkNumbers.ts` has the ones that a network can override.

/** Milliseconds. */
const second = 1000
const minute = 60 * second
const hour = 60 * minute

/** A share as an exact fraction, because amounts are integers. */
export interface Ratio {
  readonly numerator: bigint
  readonly denominator: bigint
}

// Polls of the chain

/** Milliseconds between two polls of a lane with open transactions: the block time, but within these bounds. */
export const poll = { minimum: second, maximum: 12 * second } as const

/** Milliseconds after which bytes are sent again even if every node accepted them. Nodes drop silently (geth's pool limits). */
export const rebroadcastAfter = 30 * second

/** Milliseconds before bytes with an unknown outcome are sent again; doubles with each send up to `rebroadcastAfter`. */
export const unknownRetryAfter = second

/** Polls in a row in which a node does not have the bytes before they are sent again: one poll may hit another back end. */
export const absencesBeforeRebroadcast = 2

// Lanes

/** Nonces that one commit assigns at most: encoding and signing 64 with a local key takes 10 ms of CPU. */
export const maxNoncesPerCommit = 64

/** Transactions of a lane in flight. geth guarantees 16 executable slots per account and queues 64. */
export const window = 64

/** Transactions in flight on a chain that keeps no queue of future nonces (Arbitrum holds them for about 1 s). */
export const windowWithoutMempool = 4

/** Transactions in flight of an account with an EIP-7702 delegation: geth and op-geth refuse a second one. */
export const windowOfDelegated = 1

/** The highest nonce that the service assigns: JSON numbers are exact up to here, and no account gets that far. */
export const maxNonce = Number.MAX_SAFE_INTEGER - 1

/** How often a request gets a new nonce after another transaction used its nonce. */
export const maxRequeues = 3

/** Milliseconds that a transaction with a required nonce waits for predecessors that a script may still send. */
export const predecessorGrace = 15 * second

// Deadlines

/** Milliseconds from acceptance to the deadline of a transaction without `valid_until` (the field's default). */
export const defaultValidity = 8 * hour

/** Milliseconds from acceptance to the latest deadline that is accepted. */
export const maxValidity = 7 * 24 * hour

/** Milliseconds that a transaction waits for funds while nothing of its lane is in flight. */
export const maxWaitForFunds = 10 * minute

// Fees

/** Blocks that `eth_feeHistory` is asked for. */
export const feeHistoryBlocks = 10

/** Blocks that the head of a lane waits before its price is raised. */
export const patienceBlocks = { fastest: 2, fast: 4, average: 6, safeLow: 10 } as const

/** Milliseconds that the head of a lane waits at least: blocks of 250 ms would raise the price four times a second. */
export const minimumPatience = 6 * second

/** Times the patience after which the price is raised although the market is not above it. */
export const patienceAboveMarket = 3

/** Factor of both fees from one attempt to the next. geth wants 10 %, and reth refuses exactly 10 %. */
export const bump: Ratio = { numerator: 9n, denominator: 8n }

/** A replacement with given fees has to be above the former ones by more than this: the rule of the nodes' pools. */
export const minimumBump: Ratio = { numerator: 11n, denominator: 10n }

/** Bumps that follow at once after a node has refused bytes as underpriced. */
export const immediateBumps = 3

/** Base fees that a new attempt can pay: 1.125^6 ≈ 2.03, so `double` survives five full blocks. */
export const baseFeeFactor = {
  double: { numerator: 2n, denominator: 1n },
  oneAndAHalf: { numerator: 3n, denominator: 2n }
} as const satisfies Record<string, Ratio>

/** Factors of `eth_gasPrice` for legacy transactions, as the field does it. */
export const legacyFactor = {
  safeLow: { numerator: 1n, denominator: 1n },
  average: { numerator: 5n, denominator: 4n },
  fast: { numerator: 3n, denominator: 2n },
  fastest: { numerator: 2n, denominator: 1n }
} as const satisfies Record<string, Ratio>

/**
 * Factor by which the data fee that is reserved exceeds the present one. Its price follows the fees of the chain below, which
 * grow by at most 12.5 % per block: a factor of two covers five blocks.
 */
export const dataFeeFactor: Ratio = { numerator: 2n, denominator: 1n }

/** Times the given price that a bump may reach if the relayer has no cap. */
export const explicitCeiling = 3n

/** Times the first attempt's price that a bump may reach above the market, and that a no-op may cost, without a cap. */
export const ceilingWithoutCap = 10n

/** Times the cap that the price of a no-op may reach: its gas is a fraction of what its transaction was allowed to cost. */
export const noopCapFactor = 10n

/** A balance is read less often than at each poll if it is at least this many times the cost of what is in flight. */
export const ampleBalance = 100n

/** No-ops at the current fast price that the balance of an account keeps back. */
export const noopsInReserve = 2n

// Gas

/** Gas of every transaction (Yellow Paper, G_transaction). */
export const transactionGas = 21_000n

/** Additional gas of a creation (EIP-2). */
export const creationGas = 32_000n

/** Gas of calldata per byte (EIP-2028). */
export const calldataGas = { zero: 4n, nonZero: 16n } as const

/** Floor of gas per token of calldata (EIP-7623): a zero byte is one token, another byte four. */
export const floor = { gasPerToken: 10n, tokensPerNonZero: 4n } as const

/** Init code of a creation (EIP-3860): gas per 32-byte word, and bytes at most. */
export const initCode = { gasPerWord: 2n, maxBytes: 49_152 } as const

/** Gas of one transaction at most where EIP-7825 is active: 2^24. */
export const eip7825GasCap = 2n ** 24n

/** Factor of an estimate: state moves between the estimate and the block. */
export const estimateMargin: Ratio = { numerator: 6n, denominator: 5n }

/** Bytes of a signed transaction that geth's pool accepts (txMaxSize). */
export const maxTransactionBytes = 131_072

/** Bytes of `data`: what the limit of a transaction leaves after its other fields, which are below 512 bytes. */
export const maxDataBytes = maxTransactionBytes - 512

// Requests

/** UTF-16 code units of an `external_id`. */
export const maxExternalIdLength = 255

/** Transactions in one batch request. */
export const maxBatch = 100

/** Total that `pagination` reports at most; counting further would read every row. */
export const maxCountedTransactions = 10_000

/** Open transactions, above which a send is refused with 429. */
export const maxOpen = { perRelayer: 10_000, perService: 1_000_000 } as const
