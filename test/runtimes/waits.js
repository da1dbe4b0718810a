/** Must not exit before the wait of a retry ends, although nothing else keeps the process alive. */
import { retryWithBackoff } from 'yaoki'

const failOnce = ({ attempt }) => {
	if (attempt === 0) throw new Error('once')
	return 'waited'
}
retryWithBackoff(failOnce, { baseDelayMs: 50, jitterStrategy: 'none' }).then(console.log)
