/** Retries do not multiply across services: A -> B -> C, three attempts each, C is dead. How often is it called for one user? */
import { type Fleet, startFleet } from './three-services/fleet.ts'

async function show(title: string, starting: Promise<Fleet>): Promise<void> {
	const { url, calls, close } = await starting
	const { status } = await fetch(url)
	await close()
	console.log(`${title.padEnd(34)} B was called ${calls.b} x, C ${calls.c} x; the user got a ${status}`)
}

await show('nobody listens to its caller:', startFleet(false))
// B, which is nearest to the failure, has tried three times. Its answer says so, and A leaves it at that.
await show('the innermost retries (default):', startFleet(true))
// A tells B, with its request, that it wants to be the only one.
await show('the edge alone retries:', startFleet(true, { nested: 'outermost' }))
