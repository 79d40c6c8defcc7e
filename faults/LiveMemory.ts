// Loaded before the service: on SIGUSR2, what is in memory and still needed is written, in MiB, to the file of FAULTS_MEMORY.
// Resident memory tells nothing of it: it is what it was at its fullest, until the collector finds time.
import * as fs from "node:fs"
import * as v8 from "node:v8"
import * as vm from "node:vm"

v8.setFlagsFromString("--expose-gc")
const collect: unknown = vm.runInNewContext("gc")

process.on("SIGUSR2", () => {
  if (typeof collect === "function") collect()
  const { arrayBuffers, heapUsed } = process.memoryUsage()
  fs.writeFileSync(process.env.FAULTS_MEMORY ?? "", String((heapUsed + arrayBuffers) / 1_048_576))
})
