// Methods that callers may send to the providers of a stellar network. Bytes are only sent by lanes.
export const passedMethods = {
  standard: new Set([
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
  ]),
  never: new Set(["sendTransaction"])
}
