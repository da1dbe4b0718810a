/** Retries do not multiply across services: A -> B -> C, three attempts each, and C is down. How often is it called for one user request? */
import { type Fleet, startFleet } from './three-services/fleet.ts'

async function show(title: string, starting: Promise<Fleet>): Promise<void> {
	const { url, calls, close } = await starting
	const { status } = await fetch(url)
	await close()
	console.log(`${title.padEnd(34)} B was called ${calls.b} x, C ${calls.c} x; the user got a ${status}`)
}

await show('headers ignored:', startFleet(false))
// B is nearest to the failure and has made three attempts. Its response says so, and A does not retry.
await show('innermost layer retries (default):', startFleet(true))
// A's request tells B that only A retries.
await show('only the edge retries:', startFleet(true, { nested: 'outermost' }))
