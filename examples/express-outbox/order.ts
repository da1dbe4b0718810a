/** A customer of the shop: node order.ts ID CENTS EMAIL */
const [id, cents, email] = process.argv.slice(2)
const { SHOP_URL = 'http://127.0.0.1:3000' } = process.env

const response = await fetch(`${SHOP_URL}/orders`, {
	method: 'POST',
	headers: { 'content-type': 'application/json' },
	body: JSON.stringify({ id, cents: Number(cents), email }),
})
console.log(response.status, await response.text())

// Without imports and exports this would be a script, and scripts have no top-level await.
export {}
