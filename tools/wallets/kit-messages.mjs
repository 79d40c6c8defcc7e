// What @solana/kit makes of messages of version 1, as JSON. Each has what kit builds of its instructions, and what kit reads in the
// bytes of another encoder (`wire`). Test data come from a file.
import {
  AccountRole,
  address,
  appendTransactionMessageInstructions,
  compileTransaction,
  createTransactionMessage,
  getBase64EncodedWireTransaction,
  getBase64Encoder,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
  pipe,
  setTransactionMessageConfig,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash
} from "@solana/kit"
import { readFileSync } from "node:fs"

const roleOf = ({ isSigner, isWritable }) =>
  isSigner
    ? isWritable
      ? AccountRole.WRITABLE_SIGNER
      : AccountRole.READONLY_SIGNER
    : isWritable
      ? AccountRole.WRITABLE
      : AccountRole.READONLY

const configOf = ({ priorityFee, computeUnitLimit, loadedBytes, heapBytes }) => ({
  ...(priorityFee === undefined ? {} : { priorityFeeLamports: BigInt(priorityFee) }),
  ...(computeUnitLimit === undefined ? {} : { computeUnitLimit }),
  ...(loadedBytes === undefined ? {} : { loadedAccountsDataSizeLimit: loadedBytes }),
  ...(heapBytes === undefined ? {} : { heapSize: heapBytes })
})

const built = ({ payer, blockhash, config, instructions }) =>
  pipe(
    createTransactionMessage({ version: 1 }),
    (message) => setTransactionMessageFeePayer(address(payer), message),
    (message) => setTransactionMessageLifetimeUsingBlockhash({ blockhash, lastValidBlockHeight: 0n }, message),
    (message) => setTransactionMessageConfig(configOf(config), message),
    (message) =>
      appendTransactionMessageInstructions(
        instructions.map(({ program, accounts, data }) => ({
          programAddress: address(program),
          accounts: accounts.map((account) => ({ address: address(account.address), role: roleOf(account) })),
          data: Uint8Array.from(data)
        })),
        message
      )
  )

const read = (wire) => {
  const transaction = getTransactionDecoder().decode(getBase64Encoder().encode(wire))
  const message = getCompiledTransactionMessageDecoder().decode(transaction.messageBytes)
  const { header, lifetimeToken, staticAccounts, configMask, configValues } = message
  return {
    version: message.version,
    header: [header.numSignerAccounts, header.numReadonlySignerAccounts, header.numReadonlyNonSignerAccounts],
    blockhash: lifetimeToken,
    keys: staticAccounts,
    config: [configMask, ...configValues.map(({ value }) => String(value))],
    instructions: message.instructionPayloads.map(({ instructionAccountIndices, instructionData }, index) => [
      message.instructionHeaders[index].programAccountIndex,
      [...instructionAccountIndices],
      [...instructionData]
    ]),
    signers: Object.keys(transaction.signatures)
  }
}

const messages = JSON.parse(readFileSync(process.argv[2], "utf8"))
process.stdout.write(
  JSON.stringify(
    messages.map((message) => ({
      wire: getBase64EncodedWireTransaction(compileTransaction(built(message))),
      read: read(message.wire)
    }))
  )
)
