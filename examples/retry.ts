/** A call that fails twice and then succeeds. */
import { HttpError, presets, retryWithBackoff } from 'yaoki'

let attempts = 0

async function loadUser(id: string): Promise<{ id: string; name: string }> {
	attempts++
	if (attempts < 3) throw new HttpError(503)
	return { id, name: 'Ada' }
}

const user = await retryWithBackoff(() => loadUser('7'), {
	...presets.interactive,
	baseDelayMs: 1, // so that this example ends immediately
	onRetry: (error, attempt) => console.log(`retry ${attempt} after ${error}`),
})

console.log(`loaded ${user.name} in attempt ${attempts}`)
