// Every number that decides something about transactions of solana, with its unit and its source.

/** Milliseconds. */
const second = 1000
const minute = 60 * second

// Proofs

/** Providers whose proofs or verdicts must agree, if as many are configured. */
export const agreeing = 2

/** Blocks that the finalized height must be above the bound of an attempt before its bytes count as dead. */
export const boundMargin = 1

/** Milliseconds between the two looks that a provider needs if it decides alone. */
export const looksApart = 10 * second

/** Attempts of one transaction. */
export const maxAttempts = 20

/** Blocks for which a blockhash may live, as a provider reports it. Agave accepts ages 0 to 150; nodes have reported 300. */
export const blockhashLife = { minimum: 100, maximum: 600 } as const

// Sends

/** Milliseconds after which bytes are sent again. `maxRetries` is 0, so that no node repeats them. */
export const rebroadcastAfter = 2 * second

/** Milliseconds between two looks at the signatures of a lane. */
export const pollAfter = 2 * second

// Requests

/** Milliseconds from acceptance, or from `not_before` if that is later, to the deadline of a request without `valid_until`. */
export const defaultValidity = 30 * minute

/** Instructions of a request, and accounts that they name together. */
export const maxInstructions = 64
export const maxAccounts = 64

/** Lookup tables that a request may name. */
export const maxTables = 8

/** Bytes of a transaction with its signatures: what fits into a packet of the network. */
export const maxTransactionBytes = 1232

/** Signatures of a transaction if the policy sets no limit: as many as fit into a packet beside a small message. */
export const defaultMaxSignatures = 12

// Fees

/** Lamports per signature. */
export const lamportsPerSignature = 5000n

/** Micro-lamports in a lamport. Prices of compute units are in micro-lamports. */
export const microLamports = 1_000_000n

/** Compute units of a transaction at most. */
export const maxComputeUnits = 1_400_000

/** Compute units per instruction that the runtime allows a transaction without a limit of its own. */
export const defaultComputeUnits = 200_000

/** Highest fee in lamports if neither policy nor request has a cap. */
export const defaultMaxFee = 1_000_000n

/** Signatures that instructions of precompiles may claim. Each costs as much as a signature of the transaction. */
export const maxPrecompileSignatures = 8

// Funds

/** Lamports that an account without data needs to exist (rent exemption). A fee payer below it cannot pay. */
export const rentMinimum = 890_880n

/** Lamports that a new token account takes from its funder: 165 bytes; with the extensions that Token-2022 adds. */
export const tokenAccountRent = { token: 2_039_280n, token2022: 2_500_000n } as const

/** Bytes of a seed of an address that is derived with one. */
export const maxSeedBytes = 32
