import { expect, test, vi } from 'vitest'
import { Outbox, sqliteOutboxStore } from 'yaoki/outbox'

test.each<readonly [string, readonly unknown[], string]>([
	['tx in the message', [{ topic: 'order.placed', payload: 1, tx: {} }], 'tx'],
	['topic and payload as arguments', ['order.placed', { id: 'o-1' }], 'message'],
])('%s: the error is about the message, not about the transaction', async (_, args, field) => {
	const onWarning = vi.fn()
	for (const outsideTransaction of ['warn', 'reject'] as const) {
		const outbox = new Outbox({ store: sqliteOutboxStore(':memory:'), outsideTransaction, onWarning })
		await outbox.migrate()
		const enqueued: Promise<unknown> = Reflect.apply(outbox.enqueue, outbox, args)
		await expect(enqueued).rejects.toMatchObject({
			code: 'YAOKI_INVALID_MESSAGE',
			issues: [expect.objectContaining({ field })],
		})
		await outbox.close()
	}
	expect(onWarning).not.toHaveBeenCalled()
})
