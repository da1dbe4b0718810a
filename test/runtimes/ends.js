/** Housekeeping keeps nobody: this must end by itself, at once, though the deadline is a minute away. */
import { Deadline } from 'yaoki'

const { signal } = Deadline.after(60_000)
console.log(signal.aborted ? 'aborted' : 'ended')
