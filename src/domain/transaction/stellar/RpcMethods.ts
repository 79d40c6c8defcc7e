// Methods that callers may send to the providers of a network. Bytes are only sent by lanes.

/** If the network has no `rpc_methods`. */
const defaultRpcMethods: ReadonlyArray<string> = [
  "getHealth",
  "getNetwork",
  "getVersionInfo",
  "getLatestLedger",
  "getLedgers",
  "getLedgerEntries",
  "getTransaction",
  "getTransactions",
  "getEvents",
  "getFeeStats",
  "simulateTransaction"
]

/** No list of a network allows this one. */
const neverAllowed = "sendTransaction"

export const isMethodAllowed = (method: string, allowed: ReadonlyArray<string> = defaultRpcMethods): boolean =>
  method !== neverAllowed && allowed.includes(method)
