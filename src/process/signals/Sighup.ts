// A terminal that hangs up asks to stop, as SIGTERM does: by itself, Node would end at once, and leave PostgreSQL behind.
// Under `nohup`, too, as Node undoes what that ignores.

export const stopAtHangUp = (): void => {
  process.on("SIGHUP", () => void process.emit("SIGTERM"))
}
