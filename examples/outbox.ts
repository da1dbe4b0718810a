/** Writes an order and its message in one transaction, delivers it with a relay, and edits a dead letter. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { permanent } from 'yaoki'
import { Outbox, Relay, type RelayEvent, sqliteOutboxStore } from 'yaoki/outbox'
import { z } from 'zod'

const folder = mkdtempSync(join(tmpdir(), 'yaoki-outbox-'))
const file = join(folder, 'shop.db')

// The shop's database, with the outbox in the same file.
const shop = new DatabaseSync(file, { timeout: 5_000 })
shop.exec('CREATE TABLE orders (id TEXT PRIMARY KEY, email TEXT NOT NULL)')
const topics = { 'order.placed': z.object({ id: z.string(), email: z.string() }) }
const outbox = new Outbox({ store: sqliteOutboxStore(file), topics })
await outbox.migrate()

/** Writes the order and its message, or neither. */
function placeOrder(id: string, email: string, isPaid = true): void {
	shop.exec('BEGIN IMMEDIATE')
	try {
		shop.prepare('INSERT INTO orders VALUES (?, ?)').run(id, email)
		outbox.enqueueSync({ topic: 'order.placed', payload: { id, email } }, { tx: shop })
		if (!isPaid) throw new Error('the card was declined')
		shop.exec('COMMIT')
		console.log(`${id}: committed, with its message`)
	} catch (error) {
		if (shop.isTransaction) shop.exec('ROLLBACK')
		console.log(`${id}: rolled back, with its message (${error})`)
	}
}

placeOrder('o-1', 'ada@example.com')
placeOrder('o-2', 'bob')
placeOrder('o-3', 'eve@example.com', false)

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
	maxConcurrent: 1, // for a deterministic output
	retry: { baseDelayMs: 300, maxDelayMs: 300 }, // short, but long enough for a deterministic output
	onEvent: log,
})

function log(event: RelayEvent): void {
	if (event.type === 'relay_sent') console.log(`  sent on attempt ${event.attempts}`)
	if (event.type === 'relay_retry_scheduled')
		console.log(`  attempt ${event.attempts} failed, retry scheduled: ${event.errorMessage}`)
	if (event.type === 'relay_dead_letter') console.log(`  dead letter (${event.cause}): ${event.errorMessage}`)
}

/** Resolves when `count` more messages were sent or became dead letters. */
function messagesEnd(count: number): Promise<void> {
	return new Promise((resolve) => {
		let left = count
		const unsubscribe = relay.subscribe(({ type }) => {
			if (type !== 'relay_sent' && type !== 'relay_dead_letter') return
			left--
			if (left > 0) return
			unsubscribe()
			resolve()
		})
	})
}

const both = messagesEnd(2)
await relay.start()
await both

// Find the dead letters, fix the payload and replay it in one step.
for (const { count, cause, destination, exampleId } of await outbox.dead.groups()) {
	console.log(`${count} dead letter for ${destination}: ${cause}`)
	const fixed = messagesEnd(1)
	await outbox.dead.edit(exampleId, { payload: { id: 'o-2', email: 'bob@example.com' } })
	await fixed
}

await relay.stop()
const { due, scheduled, dead } = (await outbox.stats()).totals
console.log(`remaining: ${due.count + scheduled.count} queued, ${dead.count} dead`)

await outbox.close()
shop.close()
rmSync(folder, { recursive: true })
