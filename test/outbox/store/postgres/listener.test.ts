import { expect, test, vi } from 'vitest'
import { postgresOutboxStore } from '../../../../src/outbox/store/postgres/postgres-store.ts'
import { eventually } from '../../../support/eventually.ts'
import { setup } from './setup.ts'

const postgres = setup()

const storeOn = (pool = postgres.anotherPool()) =>
	postgresOutboxStore({ client: pool, schema: postgres.schema })

/** Ends the connections that listen, as a restart or an administrator would. */
const endListeners = () =>
	postgres.pool.query(
		"select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen%' and pid <> pg_backend_pid()",
	)

test('a notification reaches another process', async () => {
	const onNotify = vi.fn()
	const ears = storeOn()
	const stop = await ears.listen(onNotify, () => {})
	await storeOn().notify()
	await eventually(() => expect(onNotify).toHaveBeenCalledTimes(1))
	await stop()
	await ears.close()
})

test('ignores notifications of another schema', async () => {
	const onNotify = vi.fn()
	const ears = storeOn()
	await ears.listen(onNotify, () => {})
	await postgresOutboxStore({ client: postgres.pool, schema: 'another_outbox' }).notify()
	await postgres.store.notify()
	await eventually(() => expect(onNotify).toHaveBeenCalled())
	expect(onNotify).toHaveBeenCalledTimes(1)
	await ears.close()
})

test('reports a lost listening connection, reconnects, and notifies once for missed notifications', async () => {
	const onNotify = vi.fn()
	const onError = vi.fn()
	const ears = storeOn()
	await ears.listen(onNotify, onError)
	await endListeners()
	await eventually(() => expect(onError).toHaveBeenCalledTimes(1))
	await eventually(() => expect(onNotify).toHaveBeenCalledTimes(1))
	await postgres.store.notify()
	await eventually(() => expect(onNotify).toHaveBeenCalledTimes(2))
	await ears.close()
})

test('reports an unreachable database without rejecting listen', async () => {
	const pool = postgres.anotherPool()
	const connect = vi.spyOn(pool, 'connect').mockImplementationOnce(() => Promise.reject(new Error('down')))
	const onNotify = vi.fn()
	const onError = vi.fn()
	const ears = storeOn(pool)
	await ears.listen(onNotify, onError)
	expect(onError.mock.calls).toEqual([[new Error('down')]])
	await eventually(() => expect(onNotify).toHaveBeenCalledTimes(1))
	expect(connect).toHaveBeenCalledTimes(2)
	await ears.close()
})

test('stop ends notifications, reconnecting and the connection', async () => {
	const onNotify = vi.fn()
	const pool = postgres.anotherPool()
	const ears = storeOn(pool)
	const stop = await ears.listen(onNotify, () => {})
	expect(pool.totalCount).toBe(1)
	await stop()
	await stop()
	await postgres.store.notify()
	await eventually(() => expect(pool.totalCount).toBe(0))
	expect(onNotify).not.toHaveBeenCalled()
	await ears.close()
})

test('listen rejects a pool of one connection: all other calls used to wait silently', async () => {
	const store = storeOn(postgres.anotherPool({ max: 1 }))
	await expect(
		store.listen(
			() => {},
			() => {},
		),
	).rejects.toThrow('A relay needs two')
	await store.close()
})
