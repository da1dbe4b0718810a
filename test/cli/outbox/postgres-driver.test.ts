import { expect, test } from 'vitest'
import { yaoki } from '../spawned.ts'

/** Hides the driver, both next to the package and in the working directory. */
const WITHOUT_DRIVER = `import { registerHooks } from 'node:module'
	registerHooks({ resolve(name, context, next) {
		if (name === 'pg') throw Object.assign(new Error('no pg'), { code: 'ERR_MODULE_NOT_FOUND' })
		return next(name, context)
	} })`

test('a missing PostgreSQL driver is reported with the command that installs it, without the password', async () => {
	const node = ['--import', `data:text/javascript,${encodeURIComponent(WITHOUT_DRIVER)}`]
	const env = { DATABASE_URL: 'postgres://ada:hunter2@127.0.0.1:1/shop' }
	const { code, stderr } = await yaoki(['outbox', 'status'], { node, env })
	expect(code).toBe(1)
	expect(stderr).toBe(
		'yaoki outbox status: PostgreSQL requires the package "pg", which is not installed.\nnpm install pg\n',
	)
})
