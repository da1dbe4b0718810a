/** A call that fails twice and then works. */
import { HttpError, presets, retryWithBackoff } from 'yaoki'

let calls = 0

async function loadUser(id: string): Promise<{ id: string; name: string }> {
	calls++
	if (calls < 3) throw new HttpError(503)
	return { id, name: 'Ada' }
}

const user = await retryWithBackoff(() => loadUser('7'), {
	...presets.interactive,
	baseDelayMs: 1, // so that this example ends immediately
	onRetry: (error, attempt) => console.log(`retry ${attempt} after ${error}`),
})

console.log(`${user.name} came with call ${calls}`)
