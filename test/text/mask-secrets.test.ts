import { expect, test } from 'vitest'
import { maskSecrets } from '../../src/text/mask-secrets.ts'

test.each([
	['at postgres://ada:hunter2@db/shop today', 'at postgres://ada:***@db/shop today'],
	['postgres://ada:p@ss/w@db/shop', 'postgres://ada:***@db/shop'],
	['"postgres://:hunter2@db"', '"postgres://:***@db"'],
	['postgres://db/shop?password=hunter2&sslmode=require', 'postgres://db/shop?***'],
	['sqlite:shop.db?key=hunter2', 'sqlite:shop.db?***'],
	['ada:hunter2@db', 'ada:***@db'],
	["host=db sslpassword='my hunter2' user=ada", 'host=db sslpassword=***'],
	['Token=hunter2 x', 'Token=*** x'],
])('%s becomes %s', (text, masked) => {
	expect(maskSecrets(text)).toBe(masked)
})

test.each(['postgres://ada@db:5432/shop', 'https://hooks.internal/events', 'a: b?', 'ada@ops', 'x://y'])(
	'%s stays',
	(text) => {
		expect(maskSecrets(text)).toBe(text)
	},
)
