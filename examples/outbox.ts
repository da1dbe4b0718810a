/** An order and its message in one transaction, a relay that delivers it, and a message that can not be delivered until it is mended. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { permanent } from 'yaoki'
import { Outbox, Relay, type RelayEvent, sqliteStore } from 'yaoki/outbox'
import { z } from 'zod'

const folder = mkdtempSync(join(tmpdir(), 'yaoki-outbox-'))
const file = join(folder, 'shop.db')

// The shop's own database, and the outbox in the same file.
const shop = new DatabaseSync(file, { timeout: 5_000 })
shop.exec('CREATE TABLE orders (id TEXT PRIMARY KEY, email TEXT NOT NULL)')
const topics = { 'order.placed': z.object({ id: z.string(), email: z.string() }) }
const outbox = new Outbox({ store: sqliteStore(file), topics })
await outbox.migrate()

/** The order and its message are written, or neither. */
async function placeOrder(id: string, email: string, isPaid = true): Promise<void> {
	shop.exec('BEGIN IMMEDIATE')
	try {
		shop.prepare('INSERT INTO orders VALUES (?, ?)').run(id, email)
		await outbox.enqueue({ topic: 'order.placed', payload: { id, email } }, { tx: shop })
		if (!isPaid) throw new Error('the card was declined')
		shop.exec('COMMIT')
		console.log(`${id}: committed, with its message`)
	} catch (error) {
		shop.exec('ROLLBACK')
		console.log(`${id}: rolled back, with its message (${error})`)
	}
}

await placeOrder('o-1', 'ada@example.com')
await placeOrder('o-2', 'bob')
await placeOrder('o-3', 'eve@example.com', false)

let calls = 0
const relay = new Relay(outbox, {
	destinations: {
		'order.placed': ({ payload: { id, email } }) => {
			calls++
			if (calls === 1) throw new Error('the mail server hung up')
			if (!email.includes('@')) throw permanent(new Error(`no address for ${id}`))
			console.log(`${id}: mail to ${email}`)
		},
	},
	concurrency: 1, // so that this example prints the same every time
	retry: { baseDelayMs: 20, maxDelayMs: 20 }, // and does not take a second
	onEvent: tell,
})

function tell(event: RelayEvent): void {
	if (event.type === 'sent') console.log(`  sent by attempt ${event.attempts}`)
	if (event.type === 'retry_scheduled')
		console.log(`  attempt ${event.attempts} failed, to be tried again: ${event.errorMessage}`)
	if (event.type === 'dead_letter') console.log(`  a dead letter, ${event.cause}: ${event.errorMessage}`)
}

/** Resolves when so many more messages were sent or have died. */
function ended(count: number): Promise<void> {
	return new Promise((resolve) => {
		let left = count
		const stop = relay.subscribe(({ type }) => {
			if (type !== 'sent' && type !== 'dead_letter') return
			left--
			if (left > 0) return
			stop()
			resolve()
		})
	})
}

const both = ended(2)
await relay.start()
await both

// In the morning: what has died, and of what? It is mended and replayed in one step.
for (const { count, cause, destination, exampleId } of await outbox.dead.groups()) {
	console.log(`${count} dead letter at ${destination}, ${cause}`)
	const mended = ended(1)
	await outbox.dead.edit(exampleId, { payload: { id: 'o-2', email: 'bob@example.com' } })
	await mended
}

await relay.stop()
const { due, scheduled, dead } = (await outbox.stats()).totals
console.log(`left: ${due.count + scheduled.count} in the queue, ${dead.count} dead`)

await outbox.close()
shop.close()
rmSync(folder, { recursive: true })
