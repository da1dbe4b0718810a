import { expect, test } from 'vitest'
import { yaoki } from '../spawned.ts'

/** A machine without the driver: neither here nor where the user stands. */
const WITHOUT_DRIVER = `import { registerHooks } from 'node:module'
	registerHooks({ resolve(name, context, next) {
		if (name === 'pg') throw Object.assign(new Error('there is no pg'), { code: 'ERR_MODULE_NOT_FOUND' })
		return next(name, context)
	} })`

test('who has no driver for PostgreSQL is told what to install, and a password is not told', async () => {
	const node = ['--import', `data:text/javascript,${encodeURIComponent(WITHOUT_DRIVER)}`]
	const env = { DATABASE_URL: 'postgres://ada:hunter2@127.0.0.1:1/shop' }
	const { code, stderr } = await yaoki(['outbox', 'status'], { node, env })
	expect(code).toBe(1)
	expect(stderr).toBe(
		"yaoki outbox status: PostgreSQL takes the driver 'pg', which is not installed\nnpm install pg\n",
	)
})
