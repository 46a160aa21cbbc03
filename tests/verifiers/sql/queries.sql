select 1, 1.5, 'x', null, true
select 7/2, -7/2, 7%3, -7%3, 7.0/2, 1/3.0, 2/3.0, 10.00/3, 0.0001/3, 1234567.891/0.007, 1.10*2.0, 1e3/7
select 100*1.0/3, 1.0*5/9, (1::numeric)/7*100, 99999/10000.0, 10000/9999.0, 1/10000.0
select round(2.5), round(-2.5), round(3.14159, 2), round(12345.678, -2), trunc(-3.99), ceil(1.1), floor(-1.1), abs(-3), abs(-2.5), mod(7,3), sign(-2)
select round(2.5::float8), ceil(1.2::float8), 5::float8/2, 1::float8 + 2, 0.1::float8 * 3
select 3.7::int, -3.5::int, 2.5::int, (2.5::float8)::int, '12'::int, 12::text || 'x', 1.50::text, true::text, 'abc'::varchar(2), 3.14159::numeric(4,2)
select * from author
select a.*, b.title from author a join book b on b.author_id = a.id
select a.name, b.title from author a left join book b on a.id = b.author_id order by 1 nulls first, 2 nulls first
select a.name, b.title from author a right join book b on a.id = b.author_id and b.pages > 100 order by 1 nulls first, 2 nulls first
select a.name, b.title from author a full join book b on a.id = b.author_id order by 1 nulls first, 2 nulls first
select count(*) from author, book
select id, name from author where name like 'A%' or name ilike '%D%'
select title from book where title like '%\_2' or title like '%100\%'
select title from book where title not like 'A_pha'
select author_id, count(*), count(title), sum(pages), avg(pages), min(price), max(price), sum(price), avg(price), sum(sold), avg(weight), sum(weight) from book group by author_id order by author_id
select count(distinct copies), count(*) filter (where copies > 3), sum(distinct copies), string_agg(kind, ',' order by kind desc) from sale
select count(*), sum(pages), max(title) from book where false
select author_id, count(*) c from book group by 1 having count(*) > 1 order by c desc, author_id desc
select a.id, a.name, a.born, count(b.id) from author a left join book b on b.author_id = a.id group by a.id order by a.id
select extract(year from born), extract(month from born)::int, count(*) from author group by extract(year from born), extract(month from born) order by 1 nulls first, 2
select to_char(date_trunc('month', day), 'YYYY-MM') m, sum(copies)::int from sale group by 1 order by m
select date_trunc('year', printed), date_trunc('week', printed), printed::date, to_char(printed, 'YYYY/MM/DD HH24:MI:SS') from book order by id
select born - date '1980-01-01', born + 30, born - 1, date '2024-03-01' - born from author order by id
select day, copies, row_number() over (order by day, copies, book_id), rank() over (order by day), dense_rank() over (order by day) from sale order by day, copies, book_id
select book_id, day, copies, lag(copies) over (partition by book_id order by day), lead(day, 1) over (partition by book_id order by day), lag(copies, 1, 0) over (partition by book_id order by day) from sale order by book_id, day
select book_id, day, sum(copies) over (partition by book_id order by day), sum(copies) over (partition by book_id), count(*) over (), avg(copies) over (order by day), sum(copies) over (order by day, copies, book_id rows between unbounded preceding and current row) from sale order by book_id, day
select first_value(day) over (partition by book_id order by day desc) f, last_value(copies) over (partition by kind) from sale order by 1, 2
select book_id, sum(copies) s, rank() over (order by sum(copies) desc nulls last) from sale group by book_id order by 3, 1
with t as (select book_id, sum(copies) s from sale group by book_id), u(b, c) as (select * from t where s > 2) select b.title, u.c from u join book b on b.id = u.b order by u.c desc, b.title
select name, case when rating > 4 then 'good' when rating is null then 'none' else 'fair' end r from author order by id
select case author_id when 1 then 1 when 2 then 2.5 else 0 end from book order by id
select coalesce(rating, 0), nullif(rating, 4.5), greatest(rating, 4), least(id, 2), greatest(null, 1) from author order by id
select concat(name, ' ', rating), name || '!' , upper(name), lower(name), length(name), left(name, 2), right(name, 2), substring(name from 2 for 2), replace(name, 'a', 'oo'), position('a' in name), trim('  x '), split_part('a,b,c', ',', 2), initcap('hello world-x y') from author order by id
select id from author where id in (select author_id from book where price > 10)
select id from author where id not in (select author_id from book)
select id from book where author_id not in (select id from author where id < 3)
select id from author a where exists (select 1 from book b where b.author_id = a.id and b.pages > 100)
select id, (select count(*) from book b where b.author_id = a.id), (select max(title) from book b where b.author_id = a.id) from author a order by id
select author_id, (select count(*) from sale s join book b2 on b2.id = s.book_id where b2.author_id = b.author_id) from book b group by author_id order by author_id
select distinct author_id from book order by author_id desc
select distinct on (author_id) author_id, title, pages from book order by author_id, pages desc nulls last
select 1 as a union select 2 union select 1 order by a
select id, name from author where id < 3 union all select id, title from book where id > 3 order by 1, 2
select author_id from book except select id from author
select id from author intersect select author_id from book order by 1
select 1 union select 2.5 order by 1
values (1, 'a', 2.5), (2, null, 3)
select * from (values (1, 'a'), (2, 'b')) as v(n, t) where n > 1
select bool_and(active), bool_or(active), every(active) from author
select * from author order by rating desc, id limit 2 offset 1
select * from author order by rating desc nulls last, name limit 3
select name, rating from author order by lower(name), name desc
select id is distinct from 2, name is null, active is true, active is not true, not active from author order by id
select id between 2 and 3, id not between 2 and 3, not id = 2 and id > 1 from author order by id
select null = 1, null and false, null or true, not null, 1 in (1, null), 2 in (1, null), 2 not in (1, null)
select t.m, u.n from (select author_id m, count(*) k from book group by 1) t left join (select author_id n, 1 k from book) u using (k) order by 1, 2
select * from (select 1 a, 2 b) x join (select 3 c, 1 a) y using (a)
select count(*) from (select distinct kind, copies from sale) q
select avg(s) from (select sum(copies) s from sale group by book_id) q
select sum(price * pages)::decimal, avg(price)::decimal, (count(*))::decimal / nullif(count(*), 0) * 100 from book
select 1.0 * sum(copies) / count(*) from sale
select kind, count(*) from sale group by kind order by kind nulls first
select kind, count(*) from sale group by kind order by 2 desc, 1
select b.id from book b where b.printed between date '2020-01-01' and date '2020-12-31' order by 1
select b.id from book b where printed >= '2020-02-01' and printed < '2022-01-01'::timestamp order by b.id
select extract(quarter from day), extract(dow from day), extract(isodow from day), extract(doy from day), extract(week from day), date_part('year', day) from sale order by day, book_id, copies
select max(born), min(day), count(distinct kind) from author, sale
select sum(case when kind = 'web' then copies else 0 end), count(case when kind = 'web' then 1 end) from sale
select exists (select from sale where copies = 9), exists(select 1 from sale where copies = 99)
select id + 1.5, id * price, pages / 7, price / 7, sold / 7, weight * 2, weight / 3, price * weight from book order by id
select cast(price as int), cast(pages as numeric(10,1)), cast('2024-02-03' as date), date '2024-02-03' + 1 from book order by id
select price > 9.99, weight = 0.5, weight > price, pages >= 80.0 from book order by id
select author.name from author where author.id = 1
select public.author.name from public.author where public.author.id = 1
select x.name from (select * from author) x where x.id = any (select author_id from book)
select -price, +pages, - -1, -(-2.5) from book order by id
select coalesce(sum(pages), 0)::bigint from book where author_id = 77
select sum(count(*)) over () , author_id from book group by author_id order by 2
select author_id, title, count(*) over (partition by author_id) n, max(price) over (partition by author_id) - price from book order by id
select concat('a', null, 1, 2.50, date '2024-01-01'), concat_ws('-', 'a', null, 'b')
select substr('hello', 2), substring('hello', 0, 3), left('hello', -2), right('hello', -2), starts_with('abc', 'ab'), strpos('abc', 'c'), btrim('xxaxx', 'x')
select a.id from author a cross join (select 2 as k) q where a.id > q.k order by 1
select a.id, s.n from author a join (select author_id, count(*) n from book group by author_id) s on s.author_id = a.id where s.n > 1 and a.rating is not null
select count(*) from author a join author b on a.born = b.born and a.id < b.id
select 10 % 3.5, 2147483647::bigint + 1, 9223372036854775807, 12345678901234567890
select avg(x) from (values (1), (2), (4)) v(x)
select avg(x), sum(x) from (values (0.001), (0.002)) v(x)
select 1/0
select 2147483647 + 1
select title from book group by author_id
select nosuch from author
select id from author, book
select sum(name) from author
select 'a' + 1
select (select id from author)
select 1.0/3.0 = 0.3333333333333333, 1.0/3 * 3 = 1
select to_char(day, 'Mon YYYY'), to_char(day, 'Q') from sale order by day, book_id, copies
select id from author where born > '1986-01-01' order by born
select id, price from book where price::text like '%.50'
select * from sale s where s.copies >= (select avg(copies) from sale) order by day, book_id, copies
select s.kind, b.author_id, sum(s.copies) from sale s join book b on b.id = s.book_id group by s.kind, b.author_id order by sum(s.copies) desc, s.kind, b.author_id
select name n from author order by n desc
select id from author order by -id
select 5 as id, id as other from author order by id, other
select date_trunc('month', day)::date from sale order by 1
select count(*) > 3, count(*)::int from sale
select round(avg(price), 2), round(avg(pages)), round((100.0 * count(title) / count(*)), 1) from book
select round(avg(weight)::numeric, 3) from book
select name from author group by id order by name
select extract(epoch from printed - timestamp '2020-01-01 12:00:00'), extract(day from printed - timestamp '2020-01-01 12:00:00'), extract(hour from printed - timestamp '2020-01-01 12:00:00'), extract(minute from printed - timestamp '2020-01-01 12:00:00'), date_part('epoch', printed - timestamp '2020-01-01 12:00:00') from book order by id
select avg(extract(epoch from (printed - date '2020-01-01')) / 86400.0) from book
select author_id, avg(extract(epoch from (printed - timestamp '2000-01-01')) / 86400.0) d, case when sum(price) >= 20 then 'Premium' else 'Basic' end from book b where title is not null group by author_id having count(distinct b.id) >= 1 order by d desc
select count(*) from book where printed - timestamp '2020-01-01' is not null
select grade, grade > 0.1, grade = 2.5, grade::float8, grade::numeric from author where id < 4 order by grade
select max(grade), min(grade) from author
select id, grade from author order by grade desc nulls last
select id, grade * 2, grade + id from author where id < 4 order by id
select id from author where name = any(array['Ada', 'ada']) order by id
select avg(grade::float8), sum(grade::float8) from author where id < 3
