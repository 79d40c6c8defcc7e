// What instructions spend from the relayer itself, and the fixed shapes in which they may.
import * as Programs from "./Programs.ts"
import { refusal, u32At, u64At } from "./Programs.ts"
import type { AccountState, Derivations, Instruction, Refusal } from "./Programs.ts"
import { leastRentMinimum, maxSeedBytes, rentMinimum, tokenAccountRent } from "./SolanaNumbers.ts"

/** Where value goes. A transfer of tokens names its mint, except the oldest kind. */
export interface Receiver {
  readonly address: string
  /** The token, if the transfer is one of tokens. `unnamed`: the instruction does not say which token it is. */
  readonly token?: { readonly mint: string; readonly program: string } | "unnamed"
}

/** `out`: lamports that leave the relayer's account at most. `spent`: value in lamports, wrapped ones included. */
export interface Spending {
  readonly out: bigint
  readonly spent: bigint
  readonly receivers: ReadonlyArray<Receiver>
}

export interface Authority {
  readonly relayer: string
  /** Programs that the policy vouches for: they get the relayer as a writable signer. */
  readonly programs: ReadonlyArray<string>
  /** Mints of tokens that users pay with. The relayer's accounts for them are not closed. */
  readonly feeMints: ReadonlyArray<string>
  readonly derivations: Derivations
  /** Absent: accounts are not read, as at admission. */
  readonly accounts?: ReadonlyMap<string, AccountState>
  /** Lamports that an account without data needs on the cluster. Absent: not read. */
  readonly rent?: bigint
}

/** Undefined: the instruction does not have this shape. */
type Shape = (instruction: Instruction, authority: Authority) => Spending | Refusal | undefined

const noSpending: Spending = { out: 0n, spent: 0n, receivers: [] }

const notAllowed = (message: string): Refusal => refusal("fee_payer_in_instruction", message)

/** Whether the relayer stands at these places and at no other one. */
const isOnlyAt = ({ accounts }: Instruction, { relayer }: Authority, ...places: ReadonlyArray<number>): boolean =>
  accounts.every((account, index) => (account === relayer) === places.includes(index))

export const isRefusal = (value: object): value is Refusal => "code" in value

// Shapes of instructions of the System program that spend from the relayer.

const transfer: Shape = (instruction, authority) => {
  const { accounts, data } = instruction
  const [, to = ""] = accounts
  const lamports = u64At(data, 4)
  if (u32At(data, 0) !== 2 || data.length !== 12 || lamports === undefined) return undefined
  if (accounts.length !== 2 || !isOnlyAt(instruction, authority, 0)) return undefined
  return { out: lamports, spent: lamports, receivers: [{ address: to }] }
}

/** The seed that begins at an offset with its length, if it is not too long. */
const seedAt = (data: Uint8Array, offset: number): Uint8Array | undefined => {
  const length = u64At(data, offset)
  if (length === undefined || length > BigInt(maxSeedBytes)) return undefined
  const end = offset + 8 + Number(length)
  return end > data.length ? undefined : data.slice(offset + 8, end)
}

const createWithSeed: Shape = (instruction, authority) => {
  const { accounts, data } = instruction
  const { relayer, derivations } = authority
  const seed = seedAt(data, 36)
  const [, created = ""] = accounts
  if (u32At(data, 0) !== 3 || seed === undefined || data.length !== 92 + seed.length) return undefined
  if (accounts.length !== 2 || !isOnlyAt(instruction, authority, 0)) return undefined
  const rest = 44 + seed.length
  const lamports = u64At(data, rest) ?? 0n
  const owner = derivations.encode(data.slice(rest + 16, rest + 48))
  if (derivations.encode(data.slice(4, 36)) !== relayer) return undefined
  if (created !== derivations.withSeed(relayer, seed, owner)) return undefined
  return { out: lamports, spent: lamports, receivers: [{ address: created }] }
}

const transferWithSeed: Shape = (instruction, authority) => {
  const { accounts, data } = instruction
  const { relayer, derivations } = authority
  const seed = seedAt(data, 12)
  const [from, , to = ""] = accounts
  const spent = u64At(data, 4)
  if (u32At(data, 0) !== 11 || seed === undefined || spent === undefined) return undefined
  if (data.length !== 52 + seed.length || accounts.length !== 3 || !isOnlyAt(instruction, authority, 1))
    return undefined
  const owner = derivations.encode(data.slice(20 + seed.length))
  if (owner !== Programs.systemProgram || from !== derivations.withSeed(relayer, seed, owner)) return undefined
  return { out: 0n, spent, receivers: [{ address: to }] }
}

const systemShapes: ReadonlyArray<Shape> = [transfer, createWithSeed, transferWithSeed]

// Shapes of instructions of the token programs, and of the program of associated accounts, that spend from the relayer.

/** A token account of the relayer itself. Absent accounts are not checked at admission. */
const ownAccount = (
  address: string,
  program: string,
  { relayer, accounts }: Authority
): { readonly mint?: string } | Refusal => {
  if (accounts === undefined) return {}
  const state = accounts.get(address) ?? { _tag: "Unreadable" as const }
  if (state._tag === "Unreadable") {
    return refusal("account_unavailable", `account ${address} cannot be read; try again later`)
  }
  return state._tag === "Token" && state.program === program && state.owner === relayer
    ? { mint: state.mint }
    : notAllowed(`account ${address} must be a token account that the relayer owns`)
}

const valueOf = (mint: string | undefined, amount: bigint): bigint =>
  mint !== undefined && Programs.nativeMints.has(mint) ? amount : 0n

const tokenTransfer: Shape = (instruction, authority) => {
  const { program, accounts, data } = instruction
  const [source = "", destination = ""] = accounts
  const amount = u64At(data, 1)
  if (data[0] !== 3 || data.length !== 9 || amount === undefined) return undefined
  if (accounts.length !== 3 || !isOnlyAt(instruction, authority, 2)) return undefined
  const own = ownAccount(source, program, authority)
  if (isRefusal(own)) return own
  return { out: 0n, spent: valueOf(own.mint, amount), receivers: [{ address: destination, token: "unnamed" }] }
}

/** Accounts behind the authority belong to a transfer hook. Its programs get what the relayer signs, so each is vouched for. */
const areHooksVouched = (further: ReadonlyArray<string>, { programs, accounts }: Authority): boolean =>
  further.length === 0 ||
  (further.some((address) => programs.includes(address)) &&
    further.every((address) => {
      const state = accounts?.get(address)
      return (
        programs.includes(address) ||
        accounts === undefined ||
        (state?._tag === "Other" && !state.isProgram) ||
        state?._tag === "Token"
      )
    }))

const tokenTransferChecked: Shape = (instruction, authority) => {
  const { program, accounts, data } = instruction
  const [source = "", mint = "", destination = "", , ...further] = accounts
  const amount = u64At(data, 1)
  if (data[0] !== 12 || data.length !== 10 || amount === undefined) return undefined
  if (accounts.length < 4 || !isOnlyAt(instruction, authority, 3) || !areHooksVouched(further, authority)) {
    return undefined
  }
  const own = ownAccount(source, program, authority)
  if (isRefusal(own)) return own
  return { out: 0n, spent: valueOf(mint, amount), receivers: [{ address: destination, token: { mint, program } }] }
}

const closeAccount: Shape = (instruction, authority) => {
  const { program, accounts, data } = instruction
  const [closed = ""] = accounts
  if (data[0] !== 9 || data.length !== 1 || accounts.length !== 3 || !isOnlyAt(instruction, authority, 1, 2)) {
    return undefined
  }
  const { relayer, feeMints, derivations } = authority
  if (feeMints.some((mint) => derivations.associated(relayer, mint, program) === closed)) {
    return notAllowed(`account ${closed} receives what users pay and must stay open`)
  }
  const own = ownAccount(closed, program, authority)
  return isRefusal(own) ? own : noSpending
}

/** Before the chain is read, the least that it can be: the rent of the cluster decides before a signature. */
const rentOf = (program: string, { accounts, rent }: Authority): bigint => {
  const highest = program === Programs.tokenProgram ? tokenAccountRent.token : tokenAccountRent.token2022
  const minimum = rent ?? (accounts === undefined ? leastRentMinimum : rentMinimum)
  return (highest * minimum + rentMinimum - 1n) / rentMinimum
}

/** The rent counts whether or not the account exists: it can be closed before the transaction is executed. */
const createAssociated: Shape = (instruction, authority) => {
  const { accounts, data } = instruction
  const [, created, wallet = "", mint = "", system, program = "", rent] = accounts
  const isCreate = data.length === 0 || (data.length === 1 && (data[0] === 0 || data[0] === 1))
  const hasAccounts = accounts.length === 6 || (accounts.length === 7 && rent === Programs.rentSysvar)
  if (!isCreate || !hasAccounts || system !== Programs.systemProgram || !Programs.isTokenProgram(program)) {
    return undefined
  }
  const isAlsoWallet = wallet === authority.relayer
  if (!isOnlyAt(instruction, authority, 0, ...(isAlsoWallet ? [2] : []))) return undefined
  if (created !== authority.derivations.associated(wallet, mint, program)) return undefined
  const taken = rentOf(program, authority)
  return { out: taken, spent: taken, receivers: [{ address: wallet }] }
}

const recoverNested: Shape = (instruction, authority) => {
  const { accounts, data } = instruction
  const { relayer, derivations } = authority
  const [nested, nestedMint = "", destination, owner, ownerMint = "", , program = ""] = accounts
  if (data.length !== 1 || data[0] !== 2 || accounts.length !== 7 || !Programs.isTokenProgram(program)) return undefined
  if (!isOnlyAt(instruction, authority, 5)) return undefined
  const expected = derivations.associated(relayer, ownerMint, program)
  const isDerived =
    owner === expected &&
    nested === derivations.associated(expected, nestedMint, program) &&
    destination === derivations.associated(relayer, nestedMint, program)
  return isDerived ? noSpending : undefined
}

const tokenShapes: ReadonlyArray<Shape> = [tokenTransfer, tokenTransferChecked, closeAccount]

const associatedShapes: ReadonlyArray<Shape> = [createAssociated, recoverNested]

// Instructions that spend from the relayer itself. Each has a fixed shape: the program, the exact accounts in their order,
// and the exact length of the data. The relayer stands at the named places and nowhere else.

const isText = (data: Uint8Array): boolean => {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(data)
    return true
  } catch {
    return false
  }
}

const memo: Shape = ({ accounts, data }, { relayer }) =>
  isText(data) && accounts.filter((account) => account === relayer).length === 1 ? noSpending : undefined

const shapes: Readonly<Record<string, ReadonlyArray<Shape>>> = {
  [Programs.systemProgram]: systemShapes,
  [Programs.tokenProgram]: tokenShapes,
  [Programs.token2022Program]: tokenShapes,
  [Programs.associatedTokenProgram]: associatedShapes,
  [Programs.memoProgram]: [memo],
  [Programs.memo4Program]: [memo]
}

/** Instructions that give away what the relayer has authority over, by their first four bytes. */
const never: Readonly<Record<string, ReadonlyArray<number>>> = {
  // Upgrade, SetAuthority, Close, SetAuthorityChecked
  [Programs.loaderProgram]: [3, 4, 5, 7],
  // Authorize, Withdraw, AuthorizeWithSeed, AuthorizeChecked, AuthorizeCheckedWithSeed
  [Programs.stakeProgram]: [1, 4, 8, 10, 11],
  // Authorize, Withdraw, AuthorizeChecked, AuthorizeWithSeed, AuthorizeCheckedWithSeed
  [Programs.voteProgram]: [1, 3, 7, 10, 11]
}

/** A program that the policy vouches for may do what it wants, except what the list `never` has. */
const vouched = ({ program, data }: Instruction): Spending | Refusal => {
  const kind = u32At(data, 0)
  return kind !== undefined && (never[program] ?? []).includes(kind)
    ? notAllowed(`instruction ${kind} of program ${program} gives away the relayer's authority`)
    : { ...noSpending, receivers: [{ address: program }] }
}

const spendingOfOne = (instruction: Instruction, authority: Authority): Spending | Refusal => {
  const { program, accounts } = instruction
  if (!accounts.includes(authority.relayer)) return noSpending
  for (const shape of shapes[program] ?? []) {
    const spending = shape(instruction, authority)
    if (spending !== undefined) return spending
  }
  if (!Programs.shapedPrograms.has(program) && authority.programs.includes(program)) return vouched(instruction)
  return notAllowed(
    Programs.shapedPrograms.has(program)
      ? `an instruction of program ${program} lists the relayer in a form that does not only spend from it`
      : `an instruction of program ${program} lists the relayer; only programs of authority_programs may`
  )
}

/** What the instructions, each with its number in the request, spend from the relayer together, or the first one that may not list it. */
export const ownSpending = (
  instructions: ReadonlyArray<readonly [number: number, Instruction]>,
  authority: Authority
): Spending | Refusal => {
  let [out, spent] = [0n, 0n]
  const receivers: Array<Receiver> = []
  for (const [number, instruction] of instructions) {
    const spending = spendingOfOne(instruction, authority)
    if (isRefusal(spending)) return { ...spending, message: `instruction ${number}: ${spending.message}` }
    out += spending.out
    spent += spending.spent
    receivers.push(...spending.receivers)
  }
  return { out, spent, receivers }
}
