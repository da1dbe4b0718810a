import { HttpError, presets, retry } from 'yaoki'

// Your code. This service is busy at first.
let requests = 0
async function loadUser(id: string): Promise<string> {
	requests++
	if (requests < 3) throw new HttpError(503)
	return `user ${id}`
}

// lint: no-timeout (lint, the last step, would report that a timeout is missing; the next step adds it)
const users = retry({ name: 'users', ...presets.interactive })
const user = await users.execute(() => loadUser('7'))
console.log(`${user}, after ${requests} requests`)
