import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { DataSource, EntitySchema } from 'typeorm'
import { thrownBy } from './provoke.js'

const folder = mkdtempSync(join(tmpdir(), 'recorded-'))
const file = join(folder, 'data.db')
const database = new Database(file)
database.exec(`
	pragma foreign_keys = on;
	create table users (id integer primary key, email text not null unique, age integer check (age > 0));
	create table orders (id integer primary key, user_id integer references users (id));
	insert into users values (1, 'ada', 36);
`)
const failing = (sql) => () => thrownBy(() => database.exec(sql))

const Item = new EntitySchema({
	name: 'Item',
	columns: { id: { type: Number, primary: true }, code: { type: String, unique: true } },
})

async function typeorm(use) {
	const source = new DataSource({
		type: 'better-sqlite3',
		database: ':memory:',
		synchronize: true,
		entities: [Item],
	})
	await source.initialize()
	const error = await thrownBy(() => use(source.getRepository('Item')))
	await source.destroy()
	return error
}

export const cases = {
	'better-sqlite3: unique constraint': failing("insert into users values (2, 'ada', 1)"),
	'better-sqlite3: primary key': failing("insert into users values (1, 'bob', 1)"),
	'better-sqlite3: not null': failing('insert into users values (2, null, 1)'),
	'better-sqlite3: check constraint': failing("insert into users values (2, 'bob', 0)"),
	'better-sqlite3: foreign key': failing('insert into orders values (1, 99)'),
	'better-sqlite3: no such table': failing('select * from nowhere'),
	'better-sqlite3: syntax error': failing('selec 1'),
	'better-sqlite3: read-only': () => {
		const reader = new Database(file, { readonly: true })
		return thrownBy(() => reader.exec('delete from orders')).finally(() => reader.close())
	},
	'better-sqlite3: locked by another connection': () => {
		const other = new Database(file, { timeout: 0 })
		database.exec('begin exclusive')
		return thrownBy(() => other.exec('delete from orders')).finally(() => {
			database.exec('rollback')
			other.close()
		})
	},
	'better-sqlite3: no such file': () =>
		thrownBy(() => new Database(join(folder, 'missing.db'), { fileMustExist: true })),
	'typeorm: unique constraint of SQLite': () =>
		typeorm(async (items) => {
			await items.insert({ id: 1, code: 'a' })
			await items.insert({ id: 2, code: 'a' })
		}),
	'typeorm: no such entity': () => typeorm((items) => items.findOneOrFail({ where: { id: 9 } })),
	'typeorm: unknown column': () => typeorm((items) => items.query('select nothing from item')),
}

export function close() {
	database.close()
	rmSync(folder, { recursive: true })
}
