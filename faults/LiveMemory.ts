// Loaded into a service before it starts: on SIGUSR2 it writes the memory that is in use, in MiB, to the file of FAULTS_MEMORY. Resident
// memory is no measure, because it stays at its maximum until the garbage collector runs.
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
