// Loaded into a service before it starts: on SIGUSR2 it allocates memory until V8 ends the process.
const taken: Array<ReadonlyArray<number>> = []

process.on("SIGUSR2", () => {
  while (true) taken.push(Array.from({ length: 100_000 }, () => taken.length))
})
