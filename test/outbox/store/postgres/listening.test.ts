import { expect, test, vi } from 'vitest'
import { postgresStore } from '../../../../src/outbox/store/postgres/postgres-store.ts'
import { postgresRig } from './rig.ts'

const rig = postgresRig()

const storeOn = (pool = rig.anotherPool()) => postgresStore({ client: pool, schema: rig.schema })

/** Ends the connections that listen, as a restart or an administrator would. */
const endListeners = () =>
	rig.pool.query(
		"select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen%' and pid <> pg_backend_pid()",
	)

test('a ring of one process is heard in another', async () => {
	const onRing = vi.fn()
	const ears = storeOn()
	const stop = await ears.listen(onRing, () => {})
	await storeOn().notify()
	await vi.waitFor(() => expect(onRing).toHaveBeenCalledTimes(1))
	await stop()
	await ears.close()
})

test('a ring of another schema is not heard', async () => {
	const onRing = vi.fn()
	const ears = storeOn()
	await ears.listen(onRing, () => {})
	await postgresStore({ client: rig.pool, schema: 'another_outbox' }).notify()
	await rig.store.notify()
	await vi.waitFor(() => expect(onRing).toHaveBeenCalled())
	expect(onRing).toHaveBeenCalledTimes(1)
	await ears.close()
})

test('a listening connection that is lost is told, taken up again, and rings for what was missed', async () => {
	const onRing = vi.fn()
	const onError = vi.fn()
	const ears = storeOn()
	await ears.listen(onRing, onError)
	await endListeners()
	await vi.waitFor(() => expect(onError).toHaveBeenCalledTimes(1), 10_000)
	await vi.waitFor(() => expect(onRing).toHaveBeenCalledTimes(1), 10_000)
	await rig.store.notify()
	await vi.waitFor(() => expect(onRing).toHaveBeenCalledTimes(2), 10_000)
	await ears.close()
})

test('a database that can not be reached is told and does not make listening fail', async () => {
	const pool = rig.anotherPool()
	const connect = vi.spyOn(pool, 'connect').mockImplementationOnce(() => Promise.reject(new Error('down')))
	const onRing = vi.fn()
	const onError = vi.fn()
	const ears = storeOn(pool)
	await ears.listen(onRing, onError)
	expect(onError.mock.calls).toEqual([[new Error('down')]])
	await vi.waitFor(() => expect(onRing).toHaveBeenCalledTimes(1), 10_000)
	expect(connect).toHaveBeenCalledTimes(2)
	await ears.close()
})

test('after stop nothing is heard, nothing is tried again, and the connection is gone', async () => {
	const onRing = vi.fn()
	const pool = rig.anotherPool()
	const ears = storeOn(pool)
	const stop = await ears.listen(onRing, () => {})
	expect(pool.totalCount).toBe(1)
	await stop()
	await stop()
	await rig.store.notify()
	await vi.waitFor(() => expect(pool.totalCount).toBe(0))
	expect(onRing).not.toHaveBeenCalled()
	await ears.close()
})

test('a pool of one connection is refused by who listens: everything else waited for it, without a word', async () => {
	const store = storeOn(rig.anotherPool({ max: 1 }))
	await expect(
		store.listen(
			() => {},
			() => {},
		),
	).rejects.toThrow('A relay needs two')
	await store.close()
})
