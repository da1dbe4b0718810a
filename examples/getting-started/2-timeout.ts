import { setTimeout as sleep } from 'node:timers/promises'
import { pipeline, presets, retry, timeout } from 'yaoki'

// Your code. The first request to this service hangs.
let requests = 0
async function loadUser(id: string, signal: AbortSignal): Promise<string> {
	requests++
	if (requests === 1) await sleep(60_000, undefined, { signal })
	return `user ${id}`
}

const users = pipeline({ name: 'users' }, retry(presets.interactive), timeout(1_000))
const user = await users.execute(({ signal }) => loadUser('7', signal))
console.log(`${user}, after ${requests} requests`)
