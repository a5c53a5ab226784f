-- All accounts side by side: how visible each was on each day.
select
    account,
    date,
    sum(prompts) as prompts,
    sum(mentions) as mentions,
    sum(visibility * prompts) / sum(prompts) as visibility
from {{ ref('topics') }}
group by account, date
