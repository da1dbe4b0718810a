/** Must exit immediately, although the deadline is a minute away. */
import { Deadline } from 'yaoki'

const { signal } = Deadline.after(60_000)
console.log(signal.aborted ? 'aborted' : 'ended')
