// Instructions that take something from the relayer if they are signed without rules: the attacks of the design.
import { address, bytesOf, derivations, other, relayer, u32, u64, user } from "./Messages.ts"
import type { Given } from "./Messages.ts"
import * as Programs from "../../src/networks/solana/rules/Programs.ts"

const tableProgram = "AddressLookupTab1e1111111111111111111111111"
const loaderV4Program = "LoaderV411111111111111111111111111111111111"

const { associatedTokenProgram, systemProgram, token2022Program, tokenProgram } = Programs

export const mint = address(40)
export const nativeMint = "So11111111111111111111111111111111111111112"
export const ownTokens = derivations.associated(relayer, mint, tokenProgram)
export const othersTokens = derivations.associated(other, mint, tokenProgram)

const seed = [...Buffer.from("v")]
const systemBytes = bytesOf(0)

const system = (accounts: ReadonlyArray<string>, ...data: ReadonlyArray<ReadonlyArray<number>>): Given => ({
  program: systemProgram,
  accounts,
  data: data.flat()
})

const token = (accounts: ReadonlyArray<string>, data: ReadonlyArray<number>, program = tokenProgram): Given => ({
  program,
  accounts,
  data
})

export const transfer = (lamports: number, to = other): Given => system([relayer, to], u32(2), u64(lamports))

const createWithSeed = system(
  [relayer, derivations.withSeed(relayer, Uint8Array.from(seed), systemProgram)],
  u32(3),
  bytesOf(1),
  u64(1),
  seed,
  u64(700),
  u64(0),
  systemBytes
)

const transferWithSeed = system(
  [derivations.withSeed(relayer, Uint8Array.from(seed), systemProgram), relayer, other],
  u32(11),
  u64(900),
  u64(1),
  seed,
  systemBytes
)

export const tokenTransfer = token([ownTokens, othersTokens, relayer], [3, ...u64(5)])

export const tokenTransferChecked = (of = mint, further: ReadonlyArray<string> = []): Given =>
  token([ownTokens, of, othersTokens, relayer, ...further], [12, ...u64(5), 0])

export const closeOwn = token([ownTokens, relayer, relayer], [9])

export const createAssociated = (program = tokenProgram, wallet = other): Given => ({
  program: associatedTokenProgram,
  accounts: [relayer, derivations.associated(wallet, mint, program), wallet, mint, systemProgram, program],
  data: [1]
})

const recoverNested: Given = {
  program: associatedTokenProgram,
  accounts: [
    derivations.associated(ownTokens, mint, tokenProgram),
    mint,
    ownTokens,
    ownTokens,
    mint,
    relayer,
    tokenProgram
  ],
  data: [2]
}

const memo: Given = { program: Programs.memoProgram, accounts: [relayer], data: [...Buffer.from("hello")] }

const program = (name: string, accounts: ReadonlyArray<string>, data: ReadonlyArray<number>): Given => ({
  program: name,
  accounts,
  data
})

/**
 * The numbers of the attacks in the design stand before the names. Refused in a prebuilt message. As own instructions, those of the
 * second list are what sending is.
 */
export const takingOver: ReadonlyArray<readonly [string, Given]> = [
  ["3: CreateAccount, relayer as funder", system([relayer, user], u32(0), u64(500), u64(0), bytesOf(3))],
  ["4: CreateAccountAllowPrefund", system([user, relayer], u32(13), u64(500), u64(0), bytesOf(3))],
  ["5: Assign the relayer", system([relayer], u32(1), bytesOf(3))],
  ["6: Allocate data on the relayer", system([relayer], u32(8), u64(10))],
  ["7: WithdrawNonceAccount", system([user, other, address(50), address(51), relayer], u32(5), u64(1))],
  ["8: AuthorizeNonceAccount", system([user, relayer], u32(7), bytesOf(3))],
  ["12: Approve", token([ownTokens, other, relayer], [4, ...u64(100)])],
  ["13: SetAuthority", token([ownTokens, relayer], [6, 2, 1, ...bytesOf(3)])],
  ["14: CloseAccount to another account", token([ownTokens, other, relayer], [9])],
  ["15: Burn", token([ownTokens, mint, relayer], [8, ...u64(5)])],
  ["15: MintTo", token([mint, othersTokens, relayer], [7, ...u64(5)])],
  ["15: FreezeAccount", token([othersTokens, mint, relayer], [10])],
  ["15: ThawAccount", token([othersTokens, mint, relayer], [11])],
  ["18, O9: an unknown program", program(address(60), [relayer], [1])],
  ["19: loader Upgrade", program(Programs.loaderProgram, [user, relayer], u32(3))],
  ["19: loader SetAuthority", program(Programs.loaderProgram, [user, relayer, other], u32(4))],
  ["19: loader Close", program(Programs.loaderProgram, [user, other, relayer], u32(5))],
  [
    "19: loader ExtendProgram",
    program(Programs.loaderProgram, [user, other, systemProgram, relayer], [...u32(6), ...u32(9)])
  ],
  ["19: loader-v4 TransferAuthority", program(loaderV4Program, [user, relayer, other], u32(3))],
  ["20: stake Withdraw", program(Programs.stakeProgram, [user, other, relayer], u32(4))],
  [
    "20: stake Authorize",
    program(Programs.stakeProgram, [user, other, relayer], [...u32(1), ...bytesOf(3), ...u32(1)])
  ],
  ["20: vote Authorize", program(Programs.voteProgram, [user, other, relayer], [...u32(1), ...bytesOf(3), ...u32(1)])],
  ["20: vote Withdraw", program(Programs.voteProgram, [user, other, relayer], u32(3))],
  ["21: lookup table Create", program(tableProgram, [user, user, relayer, systemProgram], [...u32(0), ...u64(1), 255])],
  ["21: lookup table Extend", program(tableProgram, [user, user, relayer], u32(2))],
  ["21: lookup table Close", program(tableProgram, [user, relayer, other], u32(4))],
  ["O3: Transfer by a multisig", token([othersTokens, ownTokens, user, relayer], [3, ...u64(5)])],
  [
    "O1: TransferChecked by a multisig",
    token([ownTokens, mint, othersTokens, user, relayer], [12, ...u64(5), 0], token2022Program)
  ],
  ["O6: bytes behind a transfer", system([relayer, other], u32(2), u64(5), [1])],
  ["O6: an account behind a transfer", system([relayer, other, user], u32(2), u64(5))],
  ["O7: Batch of a token program", token([ownTokens, relayer], [255, 2, 35, 6, 2, 1, ...bytesOf(3)])],
  ["a transfer to the relayer itself", transfer(5, relayer)]
]

export const sending: ReadonlyArray<readonly [string, Given, bigint, bigint]> = [
  ["1: System Transfer", transfer(1000), 1000n, 1000n],
  ["4: CreateAccountWithSeed", createWithSeed, 700n, 700n],
  ["2: TransferWithSeed", transferWithSeed, 0n, 900n],
  ["11: token Transfer", tokenTransfer, 0n, 0n],
  ["11: token TransferChecked", tokenTransferChecked(), 0n, 0n],
  ["TransferChecked of wrapped lamports", tokenTransferChecked(nativeMint), 0n, 5n],
  ["CloseAccount to the relayer", closeOwn, 0n, 0n],
  ["17: an associated account of Token", createAssociated(), 203_928n, 203_928n],
  ["17: an associated account of Token-2022", createAssociated(token2022Program), 250_000n, 250_000n],
  ["an associated account of the relayer itself", createAssociated(tokenProgram, relayer), 203_928n, 203_928n],
  ["RecoverNested", recoverNested, 0n, 0n],
  ["a memo", memo, 0n, 0n]
]
